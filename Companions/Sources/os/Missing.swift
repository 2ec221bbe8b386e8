// What Apple's module has and this one cannot do. A source that needs it is told so where it uses it.

@available(*, unavailable, message: "Linux sets no limit for one process that could be asked for; see /proc/meminfo")
public func os_proc_available_memory() -> Int { fatalError() }

@available(*, unavailable, message: "Linux has no activity tracing; put the names into the messages of a Logger")
public func os_activity_initiate(_ description: StaticString, _ flags: UInt32, _ body: () -> Void) { fatalError() }
