import Foundation
import LanternlyCore

/// Makes a journal in the form of a Day One export, with pictures, all from a seed.
struct SampleExport {
  var seed: UInt64
  var entries: Int
  /// The side of the pictures in pixels.
  var pictureSize: Int

  private static let places = [
    ("Harbour", "Santander", "Spain", "Europe/Madrid", 43.46, -3.81),
    ("Old bridge", "Porto", "Portugal", "Europe/Lisbon", 41.14, -8.61),
    ("Night market", "Taipei", "Taiwan", "Asia/Taipei", 25.03, 121.56),
    ("Lookout", "Valparaíso", "Chile", "America/Santiago", -33.05, -71.61),
  ]
  private static let mornings = [
    "The window was wet and the street below it shone.", "Coffee before anybody else was up.",
    "A dog on the stairs, asleep in the sun.", "The first train was late, so I walked.",
  ]
  private static let evenings = [
    "Home before dark, with salt on my shoes.", "We talked until the candles were gone.",
    "I must write to the others about this.", "Tomorrow the same way, but slower.",
  ]

  func write(to folder: String) throws {
    let photos = URL(fileURLWithPath: folder).appendingPathComponent("photos")
    try FileManager.default.createDirectory(at: photos, withIntermediateDirectories: true)
    var list: [[String: Any]] = []
    for index in 0..<entries { list.append(try entry(index, photos: photos)) }
    let journal: [String: Any] = ["metadata": ["version": "1.0"], "entries": list]
    let data = try JSONSerialization.data(withJSONObject: journal, options: [.prettyPrinted, .sortedKeys])
    try data.write(to: URL(fileURLWithPath: folder).appendingPathComponent("Journal.json"))
  }

  private func entry(_ index: Int, photos: URL) throws -> [String: Any] {
    var noise = Noise(seed &+ UInt64(index) &* 7919)
    let place = Self.places[Int(noise.next() % UInt64(Self.places.count))]
    let identifier = hex(&noise)
    let picture = Data(PNG.picture(width: pictureSize, height: pictureSize, seed: noise.next()))
    let md5 = Digest.md5(Array(picture))
    try picture.write(to: photos.appendingPathComponent("\(md5).png"))
    let day = Moment(seconds: 1_788_000_000 + Int64(index) * 86_400 + Int64(noise.next() % 40_000))
    let date = String(day.iso8601.prefix(19)) + "Z"
    let text = """
      # Day \(index + 1), \(place.0)

      \(escaped(Self.mornings[Int(noise.next() % 4)]))

      ![](dayone-moment://\(identifier))

      \(escaped(Self.evenings[Int(noise.next() % 4)]))
      """
    return [
      "uuid": hex(&noise), "creationDate": date, "modifiedDate": date, "timeZone": place.3, "text": text,
      "tags": ["sample", place.1], "starred": index % 5 == 0, "creationDevice": "sample camera",
      "location": [
        "placeName": place.0, "localityName": place.1, "country": place.2, "latitude": place.4, "longitude": place.5,
      ],
      "weather": [
        "temperatureCelsius": Int(noise.next() % 30), "conditionsDescription": "Clear", "weatherCode": "clear",
      ],
      "photos": [
        [
          "identifier": identifier, "md5": md5, "type": "png", "orderInEntry": 0, "width": pictureSize,
          "height": pictureSize,
        ] as [String: Any]
      ],
    ]
  }

  private func hex(_ noise: inout Noise) -> String {
    (0..<2).map { _ in
      let digits = String(noise.next(), radix: 16, uppercase: true)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }

  /// As newer versions of Day One write punctuation.
  private func escaped(_ text: String) -> String {
    text.replacingOccurrences(of: ".", with: #"\."#).replacingOccurrences(of: "-", with: #"\-"#)
  }
}
