/// Marks a moment, or an end of an interval: a line of the level `debug`.
public func os_signpost(
  _ type: OSSignpostType, dso: UnsafeRawPointer? = nil, log: OSLog, name: StaticString,
  signpostID: OSSignpostID = .exclusive
) {
  SignpostLine.write(type, name, signpostID, log) { "" }
}

/// The same with a message in a format of `os_log`'s.
public func os_signpost(
  _ type: OSSignpostType, dso: UnsafeRawPointer? = nil, log: OSLog, name: StaticString,
  signpostID: OSSignpostID = .exclusive, _ format: StaticString, _ arguments: any CVarArg...
) {
  SignpostLine.write(type, name, signpostID, log) {
    LogFormat.text(format.description, arguments, showsPrivate: LogOutput.showsPrivate)
  }
}
