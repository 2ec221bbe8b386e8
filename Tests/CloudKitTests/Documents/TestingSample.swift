import CloudKit
import Foundation
import FoundationNetworking

// The sample of docs/testing-your-app.md; a test compares both.

/// Lets the server make faults on purpose: see docs/faults.md.
func setFaults(_ plan: String) async throws {
  let endpoint = ProcessInfo.processInfo.environment["VIRGA_ENDPOINT"] ?? "http://127.0.0.1:8787"
  var request = URLRequest(url: URL(string: endpoint + "/virga/1/faults")!)
  request.httpMethod = "PUT"
  let token = ProcessInfo.processInfo.environment["VIRGA_OPERATOR_TOKEN"]
  request.setValue(token, forHTTPHeaderField: "X-Virga-Operator")
  request.httpBody = Data(plan.utf8)
  _ = try await URLSession.shared.data(for: request)
}

func aThrottledSaveSaysHowLongToWait() async throws {
  try await setFaults(
    #"{"faults": [{"when": {"operation": "records/modify", "call": 1}, "do": {"throttle": 13}}]}"#)
  do {
    _ = try await CKContainer.default().privateCloudDatabase.save(CKRecord(recordType: "Note"))
  } catch let error as CKError where error.code == .requestRateLimited {
    print("again in \(error.retryAfterSeconds ?? 0) s")
  }
}
