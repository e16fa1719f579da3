// SPDX-License-Identifier: Apache-2.0
#include "pluginhost/pluginfile.h"

#include <QtCore/QDir>
#include <QtCore/QFile>
#include <QtCore/QLibrary>
#include <QtCore/QPluginLoader>

#include <cstring>
#include <elf.h>

using namespace Qt::StringLiterals;

namespace tidekeeper::pluginhost {

namespace {

using ElfHeader = std::conditional_t<sizeof(void *) == 8, Elf64_Ehdr, Elf32_Ehdr>;
using ElfSegment = std::conditional_t<sizeof(void *) == 8, Elf64_Phdr, Elf32_Phdr>;

/// The type at this place of the file, or nothing when the file ends before it.
template<typename T>
std::optional<T> read(QFile &file, quint64 offset)
{
    T value;
    if (!file.seek(static_cast<qint64>(offset))
        || file.read(reinterpret_cast<char *>(&value), sizeof value) != sizeof value)
        return std::nullopt;
    return value;
}

/// Qt says the same of a library that is no plugin and of a plugin that was cut short while it was copied; a user
/// must be told of the second only.
bool isWholeLibrary(const QString &path)
{
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        return false;
    const auto header = read<ElfHeader>(file, 0);
    constexpr uchar nativeClass = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0
        || header->e_ident[EI_CLASS] != nativeClass)
        return false;
    for (int i = 0; i < header->e_phnum; ++i) {
        const auto segment =
            read<ElfSegment>(file, header->e_phoff + static_cast<quint64>(i) * header->e_phentsize);
        if (!segment || segment->p_offset + segment->p_filesz > static_cast<quint64>(file.size()))
            return false;
    }
    return true;
}

/// Qt writes the version as 0xMMmmpp.
QVersionNumber versionFromHex(int hex)
{
    return {(hex >> 16) & 0xff, (hex >> 8) & 0xff, hex & 0xff};
}

} // namespace

QStringList libraryFiles(const QStringList &folders)
{
    QStringList files;
    for (const QString &folder : folders) {
        const QFileInfoList entries = QDir(folder).entryInfoList(QDir::Files, QDir::Name);
        for (const QFileInfo &entry : entries) {
            // One library under two names would give one and the same root object twice.
            const QString path = entry.canonicalFilePath();
            if (QLibrary::isLibrary(entry.fileName()) && !files.contains(path))
                files.append(path);
        }
    }
    return files;
}

Result<EmbeddedMetadata> readEmbedded(const QString &file)
{
    const QJsonObject all = QPluginLoader(file).metaData();
    if (!all.isEmpty()) {
        return EmbeddedMetadata{all.value("IID"_L1).toString(), all.value("MetaData"_L1).toObject(),
                                versionFromHex(all.value("version"_L1).toInt())};
    }
    if (isWholeLibrary(file))
        return fail(u"not_a_plugin"_s, u"The library %1 is not a plugin of Tidekeeper."_s.arg(file));
    return fail(u"load_error"_s,
                u"The file %1 cannot be read as a library of this machine, or it was cut short."_s.arg(file));
}

bool qtLoads(const QVersionNumber &builtWith)
{
    return builtWith.majorVersion() == QT_VERSION_MAJOR && builtWith.minorVersion() <= QT_VERSION_MINOR;
}

Result<QObject *> loadRootObject(const QString &file)
{
    QPluginLoader loader(file);
    // A missing symbol shows now and not in the middle of a call; the code stays in the process for good.
    loader.setLoadHints(QLibrary::ResolveAllSymbolsHint | QLibrary::PreventUnloadHint);
    try {
        if (QObject *root = loader.instance())
            return root;
    } catch (const std::exception &exception) {
        return fail(u"load_error"_s,
                    u"Its constructor threw an exception: %1."_s.arg(QString::fromUtf8(exception.what())));
    } catch (...) {
        return fail(u"load_error"_s, u"Its constructor threw an exception."_s);
    }
    return fail(u"load_error"_s, loader.errorString());
}

} // namespace tidekeeper::pluginhost
