import CloudKit

// The shape of a lesson on zones and records: an atomic batch, kept system fields, references, a query page by page.

func tasksApp(_ folder: URL, _ action: String, _ words: [String]) async throws {
  let db = CKContainer(identifier: "iCloud.samples").privateCloudDatabase
  let zoneID = CKRecordZone.ID(zoneName: "Main", ownerName: CKCurrentUserDefaultName)
  let metadata = folder.appendingPathComponent("task.metadata")
  _ = try await db.modifyRecordZones(saving: [CKRecordZone(zoneID: zoneID)], deleting: [])
  switch action {
  case "plan":
    let project = CKRecord(recordType: "Project", recordID: .init(recordName: "project", zoneID: zoneID))
    project["title"] = words[0]
    var tasks: [CKRecord] = []
    for (number, title) in words.dropFirst().enumerated() {
      let task = CKRecord(recordType: "Task", recordID: .init(recordName: "task-\(number)", zoneID: zoneID))
      task["title"] = title
      task["isDone"] = 0 as Int64
      task["project"] = CKRecord.Reference(recordID: project.recordID, action: .deleteSelf)
      tasks.append(task)
    }
    let (saved, _) = try await db.modifyRecords(
      saving: [project] + tasks, deleting: [], savePolicy: .ifServerRecordUnchanged, atomically: true)
    print("saved: \(saved.values.filter { (try? $0.get()) != nil }.count)")
    let coder = NSKeyedArchiver(requiringSecureCoding: true)
    tasks[0].encodeSystemFields(with: coder)
    coder.finishEncoding()
    try coder.encodedData.write(to: metadata)
  case "finish":
    // The record is made from what was kept, without being fetched.
    let coder = try NSKeyedUnarchiver(forReadingFrom: Data(contentsOf: metadata))
    coder.requiresSecureCoding = true
    let task = CKRecord(coder: coder)!
    print("changed before: \(task.changedKeys())")
    task["isDone"] = 1 as Int64
    let (saved, _) = try await db.modifyRecords(saving: [task], deleting: [])
    let record = try saved[task.recordID]!.get()
    let whole = try await db.record(for: record.recordID)
    print("finished: \(whole["title"] as! String) \(whole["isDone"] as! Int)")
  case "all or nothing":
    let stale = CKRecord(recordType: "Task", recordID: .init(recordName: "task-0", zoneID: zoneID))
    let fresh = CKRecord(recordType: "Task", recordID: .init(recordName: "fresh", zoneID: zoneID))
    let (saved, _) = try await db.modifyRecords(saving: [stale, fresh], deleting: [])
    for record in [stale, fresh] {
      if case .failure(let error as CKError)? = saved[record.recordID] {
        print(
          "\(record.recordID.recordName): \(error.code == .serverRecordChanged) \(error.code == .batchRequestFailed)")
      }
    }
  case "open":
    let query = CKQuery(recordType: "Task", predicate: NSPredicate(format: "isDone == 0"))
    query.sortDescriptors = [NSSortDescriptor(key: "title", ascending: false)]
    var (matches, cursor) = try await db.records(matching: query, inZoneWith: zoneID)
    while let next = cursor {
      let page = try await db.records(continuingMatchFrom: next)
      matches += page.matchResults
      cursor = page.queryCursor
    }
    for (_, result) in matches { print("open: \(try result.get()["title"] as? String ?? "")") }
    let sub = CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: "main-zone")
    let info = CKSubscription.NotificationInfo()
    info.shouldSendContentAvailable = true
    sub.notificationInfo = info
    let (subscriptions, _) = try await db.modifySubscriptions(saving: [sub], deleting: [])
    print("subscribed: \(subscriptions.keys.sorted())")
  case "drop":
    try await db.deleteRecord(withID: .init(recordName: "project", zoneID: zoneID))
    let ids = (0..<2).map { CKRecord.ID(recordName: "task-\($0)", zoneID: zoneID) }
    let left = try await db.records(for: ids).values.filter { (try? $0.get()) != nil }
    print("left: \(left.count)")
  default: break
  }
}
