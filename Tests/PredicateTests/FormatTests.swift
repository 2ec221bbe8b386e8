import Foundation
import TestSupport
import Testing
import VirgaModel

@testable import VirgaPredicates

/// Reads a format and prints what was understood.
private func text(_ format: String, _ arguments: Any...) throws -> String {
  try NSPredicate(checking: format, argumentArray: arguments).condition.text
}

private func failure(_ format: String, _ arguments: [Any] = []) -> PredicateFormatError? {
  do {
    _ = try NSPredicate(checking: format, argumentArray: arguments)
    return nil
  } catch {
    return error
  }
}

@Suite struct FormatTests {
  @Test(arguments: [
    ("a = 1", "a == 1"), ("a == 1", "a == 1"), ("a != 1", "a != 1"), ("a <> 1", "a != 1"), ("a < 1", "a < 1"),
    ("a <= 1", "a <= 1"), ("a =< 1", "a <= 1"), ("a > 1", "a > 1"), ("a >= 1", "a >= 1"), ("a => 1", "a >= 1"),
    ("1<a", "1 < a"), ("name beginswith 'x'", #"name BEGINSWITH "x""#), ("name ENDSWITH 'x'", #"name ENDSWITH "x""#),
    ("tags CONTAINS[cd] 'x'", #"tags CONTAINS[cd] "x""#), ("tags contains [dc] 'x'", #"tags CONTAINS[cd] "x""#),
    ("name LIKE 'x*'", #"name LIKE "x*""#), ("name MATCHES 'x+'", #"name MATCHES "x+""#),
    ("a IN {1, 2}", "a IN {1, 2}"), ("a IN {}", "a IN {}"), ("'x' IN tags", #""x" IN tags"#),
    ("a BETWEEN {1, 2}", "a BETWEEN {1, 2}"),
    ("allTokens TOKENMATCHES[cdl] 'x y'", #"allTokens TOKENMATCHES[cdl] "x y""#),
    ("SELF CONTAINS 'x'", #"SELF CONTAINS "x""#), ("self.name == 'x'", #"name == "x""#),
    ("ANY tags == 'x'", #"ANY tags == "x""#), ("SOME tags == 'x'", #"ANY tags == "x""#),
    ("ALL tags == 'x'", #"ALL tags == "x""#), ("NONE tags == 'x'", #"NOT ANY tags == "x""#),
    ("author.name == 'x'", #"author.name == "x""#), ("TRUEPREDICATE", "TRUEPREDICATE"),
    ("falsepredicate", "FALSEPREDICATE"),
  ])
  func comparisonsAreRead(format: String, expected: String) throws {
    #expect(try text(format) == expected)
  }

  @Test(arguments: [
    ("a == 1 AND b == 2 OR c == 3", "(a == 1 AND b == 2) OR c == 3"),
    ("a == 1 OR b == 2 AND c == 3", "a == 1 OR (b == 2 AND c == 3)"),
    ("a == 1 && b == 2 || c == 3", "(a == 1 AND b == 2) OR c == 3"),
    ("NOT a == 1 AND b == 2", "(NOT a == 1) AND b == 2"), ("!(a == 1 AND b == 2)", "NOT (a == 1 AND b == 2)"),
    ("not !a == 1", "NOT (NOT a == 1)"), ("(a == 1 OR b == 2) AND c == 3", "(a == 1 OR b == 2) AND c == 3"),
    ("((a) == (1))", "a == 1"), ("(((a == 1)))", "a == 1"), ("(a) == 1 AND (b) == 2", "a == 1 AND b == 2"),
    ("a == 1 and b == 2 And c == 3", "a == 1 AND b == 2 AND c == 3"),
  ])
  func notBindsBeforeAndBeforeOr(format: String, expected: String) throws {
    #expect(try text(format) == expected)
  }

  @Test(arguments: [
    ("a == -5", "-5"), ("a == 9223372036854775807", "9223372036854775807"),
    ("a == -9223372036854775808", "-9223372036854775808"), ("a == 1.5", "1.5"), ("a == .5", "0.5"),
    ("a == 1e3", "1000.0"), ("a == -1.5e-3", "-0.0015"), ("a == 0x1F", "31"), ("a == YES", "1"), ("a == FALSE", "0"),
    ("a == nil", "nil"), ("a == NULL", "nil"), (#"a == "it's""#, #""it's""#), (#"a == 'say "x"'"#, #""say \"x\"""#),
    (#"a == 'tab\tline\n'"#, #""tab\tline\n""#), (#"a == '\u00e9\\'"#, #""é\\""#), ("a == '%@ AND'", #""%@ AND""#),
    ("a == ''", "\"\""),
  ])
  func literalsAreRead(format: String, expected: String) throws {
    #expect(try text(format) == "a == " + expected)
  }

  @Test func placeholdersTakeTheirArgumentsInOrder() throws {
    #expect(try text("%K == %@ AND b > %d AND c < %f", "order", "x", 3, 2.5) == #"order == "x" AND b > 3 AND c < 2.5"#)
    #expect(try text("%K IN %@", "a.b", [1, 2]) == "a.b IN {1, 2}")
    #expect(try text("a == %ld AND b == %lld AND c == %lu AND d == %i", 1, 2, 3, 4).hasSuffix("d == 4"))
    #expect(try text("a == %@", NSNull()) == "a == nil")
    #expect(try text("a == %@", Int?.none as Any) == "a == nil")
    #expect(try text("a == %@", true) == "a == 1")
    #expect(try text("a IN %@", Set(["b", "a", "c"])) == #"a IN {"a", "b", "c"}"#)
    #expect(try text("(a) == %@ OR b == %@", 1, 2) == "a == 1 OR b == 2")
    #expect(try text("%K == 1", "two words") == #"CAST("two words", "NSKeyPath") == 1"#)
    #expect(try text("#size == 1 AND %K == 2", "in") == "#size == 1 AND #in == 2")
  }

  @Test func variadicArgumentsAreAsGoodAsAList() {
    let when = Date(timeIntervalSince1970: 0)
    let variadic = NSPredicate(format: "%K > %@ AND n == %d", "date", when as NSDate, 3)
    #expect(variadic == NSPredicate(format: "%K > %@ AND n == %d", argumentArray: ["date", when, 3]))
    #expect(variadic.hash == NSPredicate(format: "%K > %@ AND n == %d", argumentArray: ["date", when, 3]).hash)
    #expect(variadic != NSPredicate(format: "date > %@ AND n == 4", when as NSDate))
  }

  @Test(arguments: [
    ("", 1, "expected a field or a value, found the end"), ("name", 5, "expected a comparison such as"),
    ("name LIKE", 10, "expected a field or a value, found the end"), ("name == 'x", 9, "no closing '"),
    ("a == 1 b == 2", 8, "expected AND, OR or the end, found b"), ("(a == 1", 8, "expected ), found the end"),
    ("a == 1)", 7, "expected AND, OR or the end"), ("a == 1 AND", 11, "found the end"),
    ("a ~ 1", 3, "is not expected here"),
    ("a + 1 == 2", 3, "arithmetic (+) is not supported"), ("a[0] == 1", 2, "one element of a list"),
    ("@count == 1", 1, "collection operator"), ("a == $x", 6, "a variable"),
    ("SUBQUERY(a, $x, $x == 1) == 1", 1, "SUBQUERY is not supported"),
    ("lowercase:(a) == 'x'", 1, "the function lowercase: is not supported"), ("a ==[q] 'x'", 6, "[q] is not an option"),
    ("a == 99999999999999999999", 6, "does not fit into 64 bits"), ("a == 12abc", 8, "a number cannot contain"),
    ("a BETWEEN {1}", 11, "two bounds"), ("a BETWEEN 5", 11, "two bounds"), ("a MATCHES '('", 11, "regular expression"),
    ("a IN {b}", 7, "only hold values"), ("a == %s", 6, "%s is not supported"), ("a == %q", 6, "% needs a conversion"),
    ("a == %", 6, "% needs a conversion"), ("AND a == 1", 1, "expected a field or a value"),
    ("a == #", 6, "# needs a name"), ("a == CAST(1, 'NSThing')", 6, "cannot be cast"),
  ])
  func whatCannotBeReadIsRefusedWithItsPlace(format: String, position: Int, reason: String) throws {
    let error = try #require(failure(format))
    #expect(error.position == position, "\(error)")
    #expect(error.reason.contains(reason), "\(error)")
  }

  @Test func argumentsThatAreMissingOrWrongAreRefusedWithTheirPlace() {
    #expect(failure("a == %@ AND b == %@", ["x"])?.position == 18)
    #expect(failure("%K == 1", [5])?.reason == "%K needs the name of a field, not 5")
    #expect(failure("a == %d", ["x"])?.reason == #"%d needs a number, not "x""#)
    #expect(failure("a BETWEEN %@", [[1, 2, 3]])?.position == 11)
  }

  @Test func nestingHasALimit() {
    func nested(_ levels: Int) -> String {
      String(repeating: "(", count: levels) + "a == 1" + String(repeating: ")", count: levels)
    }
    #expect(failure(nested(FormatParser.nestingMax)) == nil)
    #expect(failure(nested(FormatParser.nestingMax + 1))?.reason == "conditions are nested deeper than 100 levels")
    #expect(failure(String(repeating: "NOT ", count: 101) + "a == 1")?.position == 401)
    for (opening, closing) in [
      ("CAST(", ", 'NSNumber')"), ("distanceToLocation:fromLocation:(", ", p)"), ("{", "}"),
      ("distanceToLocation:fromLocation:(p, ", ")"), ("CAST({", "}, 'NSDate')"),
    ] {
      let format = "a == " + String(repeating: opening, count: 20_000) + "1" + String(repeating: closing, count: 20_000)
      #expect(failure(format)?.reason.contains("nested deeper") == true, "\(opening)")
    }
    #expect(failure("a == " + String(repeating: "CAST(", count: 101) + "1")?.position == 506)
  }

  // C84: swiftlang/swift-corelibs-foundation#5345
  @Test func aFormatThatCannotBeReadStopsTheProcess() async {
    await #expect(processExitsWith: .failure) { _ = NSPredicate(format: "name LIKE") }
  }

  @Test func mutilatedFormatsNeverTrap() {
    let seeds = [
      "%K == %@ AND NOT (b IN {1, -2.5, 'x'} || c BETWEEN {1, 2})", "distanceToLocation:fromLocation:(p, %@) < 5e3",
      #"ANY tags BEGINSWITH[cd] "\u00e9\"" OR SELF CONTAINS 'a b' AND #in <> 0x1F"#,
      "CAST({\"a\"}, \"CKReference\") = r",
    ]
    var random = SplitMix64(seed: 75)
    for seed in seeds {
      for _ in 0..<500 {
        var characters = Array(seed)
        for _ in 0..<Int.random(in: 1...4, using: &random) {
          let index = Int.random(in: 0..<characters.count, using: &random)
          characters[index] = seed.randomElement(using: &random) ?? " "
        }
        let format = String(characters.prefix(Int.random(in: 0...characters.count, using: &random)))
        guard let error = failure(format, ["a", "b"]) else { continue }
        #expect((1...(format.count + 1)).contains(error.position), "\(error)")
      }
    }
  }
}

@Suite struct ArchivedFormatTests {
  @Test func everyValueSurvivesItsText() throws {
    let zone = ZoneID("Notes", owner: "_abc")
    let values: [FieldValue] = [
      .string("a \"b\" \\ \n é 😀"), .int64(.min), .double(0.1), .double(-.infinity), .double(1e300),
      .timestamp(Timestamp(milliseconds: 1_700_000_000_123)), .timestamp(Timestamp(milliseconds: -1)),
      .bytes([0, 255]), .location(Location(latitude: 1.5, longitude: -0.25)),
      .reference(Reference(recordName: "r|1")), .reference(Reference(recordName: "r", zone: zone)),
    ]
    for value in values {
      let condition = Condition.all([
        .comparison(Comparison(left: .key(["a"]), comparator: .equal, right: .constant(.value(value)))),
        .not(
          .comparison(
            Comparison(
              modifier: .any, left: .key(["two words"]), comparator: .isIn, options: [.caseInsensitive],
              right: .constant(.list([.value(value), .null]))))),
      ])
      let format = try #require(condition.predicate.archivedFormat)
      #expect(NSPredicate.predicate(archivedFormat: format)?.condition == condition, "\(format)")
    }
  }

  @Test func predicatesOfBlocksAndForeignTextsAreNotArchived() {
    #expect(NSPredicate(block: { _, _ in true }).archivedFormat == nil)
    #expect(NSPredicate(format: "a == %@", UUID() as NSUUID).archivedFormat == nil)
    #expect(NSPredicate.predicate(archivedFormat: "nonsense") == nil)
    let both = NSCompoundPredicate(andPredicateWithSubpredicates: [
      NSPredicate(format: "a == 1"), NSPredicate(value: true),
    ])
    #expect(both.archivedFormat == "a == 1 AND TRUEPREDICATE")
  }
}
