import Foundation

/// Writes a message with a format of `printf`'s kind: `os_log("%{public}@ took %.2f s", log: log, type: .info, name, seconds)`.
///
/// `%@` and `%s` are private unless the format says `%{public}…`; numbers are public unless it says `%{private}…`.
public func os_log(
  _ message: StaticString, dso: UnsafeRawPointer? = nil, log: OSLog = .default, type: OSLogType = .default,
  _ args: any CVarArg...
) {
  LogOutput.write(type, from: log) { LogFormat.text(message.description, args, showsPrivate: LogOutput.showsPrivate) }
}

public func os_log(
  _ type: OSLogType, dso: UnsafeRawPointer? = nil, log: OSLog = .default, _ message: StaticString,
  _ args: any CVarArg...
) {
  LogOutput.write(type, from: log) { LogFormat.text(message.description, args, showsPrivate: LogOutput.showsPrivate) }
}

@_disfavoredOverload
public func os_log(_ message: OSLogMessage) { Logger().log(message) }

@_disfavoredOverload
public func os_log(_ type: OSLogType, _ message: OSLogMessage) { Logger().log(level: type, message) }

@_disfavoredOverload
public func os_log(_ type: OSLogType, log: OSLog, _ message: OSLogMessage) { Logger(log).log(level: type, message) }

/// A format of `os_log`: `printf`'s, with options in braces behind the per cent sign.
enum LogFormat {
  static func text(_ format: String, _ arguments: [any CVarArg], showsPrivate: Bool) -> String {
    var text = ""
    var rest = Substring(format)
    var remaining = arguments[...]
    while let percent = rest.firstIndex(of: "%") {
      text += rest[..<percent]
      rest = rest[rest.index(after: percent)...]
      if rest.first == "%" {
        text += "%"
        rest.removeFirst()
        continue
      }
      var options: [Substring] = []
      if rest.first == "{" {
        guard let end = rest.firstIndex(of: "}") else { return text + "%" + rest }
        options = rest[rest.index(after: rest.startIndex)..<end].split { $0 == "," || $0 == " " }
        rest = rest[rest.index(after: end)...]
      }
      guard let letter = rest.firstIndex(where: { $0.isLetter && !"hlqLztj".contains($0) || $0 == "@" }) else {
        return text + "%" + rest
      }
      let conversion = String(rest[...letter])
      rest = rest[rest.index(after: letter)...]
      // `%.*f`: the width or precision is an argument of its own.
      var values: [any CVarArg] = []
      for _ in 0..<(conversion.filter { $0 == "*" }.count + 1) {
        guard let value = remaining.popFirst() else { break }
        values.append(value)
      }
      guard values.count == conversion.filter({ $0 == "*" }).count + 1 else {
        text += "<missing>"
        continue
      }
      text += written(conversion, values, options, showsPrivate: showsPrivate)
    }
    return text + rest
  }

  private static func written(
    _ conversion: String, _ values: [any CVarArg], _ options: [Substring], showsPrivate: Bool
  ) -> String {
    let isText = conversion.last == "@" || conversion.last == "s"
    let mask: OSLogPrivacy.Mask = options.contains("mask.hash") ? .hash : .none
    let privacy: OSLogPrivacy =
      options.contains("public")
      ? .public
      : options.contains("sensitive")
        ? .sensitive(mask: mask) : options.contains("private") ? .private(mask: mask) : .auto(mask: mask)
    return privacy.written(
      rendered(conversion, values, options), isPublicByNature: !isText, showsPrivate: showsPrivate)
  }

  private static func rendered(_ conversion: String, _ values: [any CVarArg], _ options: [Substring]) -> String {
    if conversion.hasSuffix("@"), let object = values.last { return "\(object)" }
    if let number = values.last as? Int32, options.contains(where: { $0 == "darwin.errno" || $0 == "errno" }) {
      return OSLogInt32ExtendedFormat.darwinErrno.text(number)
    }
    if let names = options.contains("bool") ? ("false", "true") : options.contains("BOOL") ? ("NO", "YES") : nil {
      return String(format: "%" + conversion, arguments: values) == "0" ? names.0 : names.1
    }
    return String(format: "%" + conversion, arguments: values)
  }
}
