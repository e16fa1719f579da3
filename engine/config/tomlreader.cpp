// SPDX-License-Identifier: Apache-2.0
#include "config/tomlreader.h"

#include <QtCore/QJsonArray>

#include <toml++/toml.h>

#include <optional>

using namespace Qt::StringLiterals;

namespace tidekeeper::config {

namespace {

QString fromUtf8(std::string_view text)
{
    return QString::fromUtf8(text.data(), qsizetype(text.size()));
}

class Converter {
public:
    Document document;
    std::optional<Error> error;

    QJsonObject object(const toml::table &table, const QString &path)
    {
        QJsonObject result;
        for (auto &&[key, node] : table) {
            const QString name = fromUtf8(key.str());
            const QString keyPath = path.isEmpty() ? name : path + u'.' + name;
            document.origins.insert(keyPath, u"line %1"_s.arg(key.source().begin.line));
            result.insert(name, value(node, keyPath));
        }
        return result;
    }

    QJsonValue value(const toml::node &node, const QString &path)
    {
        switch (node.type()) {
        case toml::node_type::table:
            return object(*node.as_table(), path);
        case toml::node_type::array: {
            QJsonArray items;
            for (const toml::node &item : *node.as_array())
                items.append(value(item, path));
            return items;
        }
        case toml::node_type::string:
            return fromUtf8(node.as_string()->get());
        case toml::node_type::integer:
            return qint64(node.as_integer()->get());
        case toml::node_type::floating_point:
            return node.as_floating_point()->get();
        case toml::node_type::boolean:
            return node.as_boolean()->get();
        default:
            if (!error)
                error =
                    Error::failure(u"invalid_value"_s,
                                   u"%1: a date or time cannot stand here; write text in quotes."_s.arg(path),
                                   {{u"field"_s, path}});
            return {};
        }
    }
};

Result<Document> parse(std::string_view text, const QString &name)
{
    // toml++ throws here; the exception stays inside this function.
    try {
        const toml::table table = toml::parse(text);
        Converter converter;
        converter.document.root = converter.object(table, {});
        if (converter.error)
            return fail(*converter.error);
        return converter.document;
    } catch (const toml::parse_error &e) {
        return fail(u"config_syntax"_s,
                    u"%1, line %2, column %3: %4."_s.arg(name)
                        .arg(e.source().begin.line)
                        .arg(e.source().begin.column)
                        .arg(fromUtf8(e.description())));
    }
}

QJsonValue environmentValue(const QString &text)
{
    const QByteArray utf8 = "v = " + text.toUtf8();
    const Result<Document> parsed = parse({utf8.constData(), size_t(utf8.size())}, {});
    return parsed && parsed->root.size() == 1 ? parsed->root.value("v"_L1) : QJsonValue(text);
}

QString comparable(const QString &name)
{
    return name.toLower().replace(u'-', u'_');
}

/// The spelling that the document already uses for this key; as given (lower case) when it is new.
QString spelledLike(const QJsonObject &object, const QString &name)
{
    for (auto it = object.begin(); it != object.end(); ++it) {
        if (comparable(it.key()) == comparable(name))
            return it.key();
    }
    return name.toLower();
}

QJsonObject withValue(QJsonObject object, QStringList path, const QJsonValue &value, QString &spelled)
{
    const QString key = spelledLike(object, path.takeFirst());
    spelled += spelled.isEmpty() ? key : u'.' + key;
    object.insert(key,
                  path.isEmpty() ? value
                                 : QJsonValue(withValue(object.value(key).toObject(), path, value, spelled)));
    return object;
}

} // namespace

Result<Document> readToml(const QByteArray &text, const QString &name)
{
    return parse({text.constData(), size_t(text.size())}, name);
}

void applyEnvironment(Document &document, const QMap<QString, QString> &environment)
{
    static const QString prefix = u"TIDEKEEPER_"_s;
    for (auto it = environment.begin(); it != environment.end(); ++it) {
        QStringList path = it.key().mid(prefix.size()).split(u"__"_s);
        if (!it.key().startsWith(prefix) || path.size() < 2 || path.contains(QString()))
            continue;
        if (path[0].compare("plugins"_L1, Qt::CaseInsensitive) == 0)
            path[1].replace(u'_', u'-'); // plugin ids are written with hyphens
        QString spelled;
        document.root = withValue(document.root, path, environmentValue(it.value()), spelled);
        document.origins.insert(spelled, u"environment %1"_s.arg(it.key()));
    }
}

} // namespace tidekeeper::config
