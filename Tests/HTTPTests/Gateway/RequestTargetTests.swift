import Testing
import VirgaModel

@testable import VirgaHTTP

@Suite struct RequestTargetTests {
  private static let calls = "/database/1/iCloud.com.example.Diary/development/private/"

  private func head(_ target: String, _ method: String = "POST") -> HTTPRequestHead {
    HTTPRequestHead(method: method, target: target)
  }

  @Test func aRememberedTargetIsWhatItWasTheFirstTime() {
    let memory = TargetMemory()
    let call = head(Self.calls + "records/modify?ckAPIToken=a%2Bb&ckWebAuthToken=1__2__c%2520d&clientId=x")
    let first = memory.target(of: call)
    let second = memory.target(of: call)
    #expect(first === second && second.route == Route(call))
    #expect(second.query["ckAPIToken"] == "a+b" && second.query["clientId"] == "x" && second.query["other"] == nil)
    #expect(second.query.webTokenSpellings == ["1__2__c%20d", "1__2__c+d"])
  }

  @Test(arguments: [
    ("GET", calls + "zones/list"), ("POST", "/assets/1/upload?t=x"), ("POST", calls + "records/nothing"),
    ("POST", "/virga/1/account/enrol"), ("OPTIONS", calls + "records/modify"),
  ])
  func onlyCallsAreRemembered(method: String, target: String) {
    let memory = TargetMemory()
    #expect(memory.target(of: head(target, method)).route == Route(head(target, method)))
    #expect(memory.count == 0)
  }

  @Test(arguments: [(-1, 1), (0, 1), (1, 0)])
  func longTargetsAreNotRemembered(beyond: Int, remembered: Int) {
    let memory = TargetMemory()
    let start = Self.calls + "records/modify?x="
    let target = start + String(repeating: "y", count: TargetMemory.targetBytesMax - start.utf8.count + beyond)
    #expect(memory.target(of: head(target)).query["x"] != nil)
    #expect(memory.count == remembered)
  }

  @Test func theMemoryIsBounded() {
    let memory = TargetMemory()
    for number in 0..<TargetMemory.targetsMax + 1 {
      let target = memory.target(of: head(Self.calls + "records/modify?busted=\(number)"))
      #expect(target.query["busted"] == "\(number)")
      #expect(memory.count <= TargetMemory.targetsMax)
    }
    #expect(memory.count == 1)
  }

  @Test(
    arguments: [
      ("?ckWebAuthToken=&ckSession=s", ["s"]), ("?ckSession=s&ckWebAuthToken=w", ["w"]), ("?ckWebAuthToken=", nil),
      ("?ckWebAuthToken=%ff", []), ("", nil), ("?ckWebAuthToken=a+b%20c", ["a+b+c"]),
    ] as [(String, [String]?)])
  func aWebTokenIsLookedForUnderItsTwoNames(query: String, spellings: [String]?) {
    #expect(RequestTarget(head(Self.calls + "records/modify" + query)).query.webTokenSpellings == spellings)
  }
}
