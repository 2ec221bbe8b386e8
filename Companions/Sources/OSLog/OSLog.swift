@_exported import os

@available(*, unavailable, message: "Linux has no store of log messages to read; they are written to standard error")
public final class OSLogStore {
  public init() {}
}

@available(*, unavailable, message: "Linux has no store of log messages to read; they are written to standard error")
public class OSLogEntry {}

@available(*, unavailable, message: "Linux has no store of log messages to read; they are written to standard error")
public final class OSLogEntryLog {}
