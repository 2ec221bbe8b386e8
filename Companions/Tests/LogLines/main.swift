// An app's source as it stands on a Mac: nothing here knows that these modules are not Apple's.
import CloudKit
import CoreLocation
import OSLog
import UniformTypeIdentifiers
import os.lock
import os.log
import os.signpost

#if !canImport(os) || !canImport(OSLog) || !canImport(CoreLocation) || !canImport(UniformTypeIdentifiers)
  #error("a module that this target depends on cannot be imported")
#endif

extension Logger {
  static let sync = Logger(subsystem: "com.example.notes", category: "sync")
}

private let legacy = OSLog(subsystem: "com.example.notes", category: "legacy")
private let title = "Rain at \(Int.random(in: 1...1))"
private let lock = OSAllocatedUnfairLock(initialState: 0)

Logger.sync.debug("debug \(1)")
Logger.sync.info("info \(title)")
Logger.sync.notice("notice \(title) \(title, privacy: .public)")
Logger.sync.error("error \(CKError(.networkFailure).code.rawValue, format: .decimal(minDigits: 3))")
Logger.sync.fault("fault \(title, privacy: .sensitive)")
os_log("legacy %{public}@ %@ %d %.1f %%", log: legacy, type: .error, "open" as NSString, "hidden" as NSString, 7, 2.5)
os_log("default log")
lock.withLock { $0 += 1 }
Logger.sync.notice("two\nlines")

let poster = OSSignposter(logger: .sync)
poster.withIntervalSignpost("fetch") { os_signpost(.event, log: legacy, name: "page", "%d", 3) }

let place = CLLocation(latitude: 47.5, longitude: 19)
let record = CKRecord(recordType: "Place")
record["place"] = place
print(
  UTType(filenameExtension: "JPG")?.identifier ?? "none", (record["place"] as? CLLocation)?.coordinate.latitude ?? 0)
