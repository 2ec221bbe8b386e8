import Foundation
import Testing
import UniformTypeIdentifiers

@Suite struct FileTypeTests {
  @Test(arguments: [
    ("jpg", "public.jpeg", "image/jpeg"), ("HEIC", "public.heic", "image/heic"),
    ("m4a", "public.mpeg-4-audio", "audio/mp4"),
    ("mov", "com.apple.quicktime-movie", "video/quicktime"), ("pdf", "com.adobe.pdf", "application/pdf"),
    ("md", "net.daringfireball.markdown", "text/markdown"), ("txt", "public.plain-text", "text/plain"),
  ])
  func extensionsNameTypes(suffix: String, identifier: String, mimeType: String) throws {
    let type = try #require(UTType(filenameExtension: suffix))
    #expect(type.identifier == identifier)
    #expect(type.preferredMIMEType == mimeType)
    #expect(UTType(mimeType: mimeType + "; charset=utf-8") == type)
    #expect(UTType(identifier) == type)
  }

  @Test func typesConformToWhatIsAboveThem() {
    #expect(UTType.jpeg.conforms(to: .image) && UTType.jpeg.conforms(to: .data) && UTType.jpeg.conforms(to: .item))
    #expect(!UTType.jpeg.conforms(to: .movie) && !UTType.image.conforms(to: .jpeg))
    #expect(UTType.png.isSubtype(of: .image) && !UTType.png.isSubtype(of: .png) && UTType.image.isSupertype(of: .png))
    #expect(UTType(filenameExtension: "json", conformingTo: .image)?.isDynamic == true)
  }

  @Test func whatNobodyKnowsIsADynamicType() throws {
    let type = try #require(UTType(filenameExtension: "Zzz", conformingTo: .image))
    #expect(type.isDynamic && type.conforms(to: .image) && type.preferredFilenameExtension == "zzz")
    #expect(UTType(type.identifier) == type && UTType(type.identifier)?.preferredFilenameExtension == "zzz")
    #expect(UTType("com.example.nobody") == nil && UTType("dyn.x") == nil && UTType("dyn.c3a9") == nil)
    #expect(UTType(filenameExtension: "") == nil && UTType(filenameExtension: "a/b") == nil)
  }

  @Test func anAppsOwnTypesKnowTheirParents() throws {
    let base = UTType(exportedAs: "com.example.test.base", conformingTo: .json)
    let note = UTType(exportedAs: "com.example.test.note", conformingTo: base)
    #expect(note.conforms(to: base) && note.conforms(to: .json) && note.conforms(to: .text))
    #expect(UTType("com.example.test.note") == note)
    let coded = try JSONDecoder().decode([UTType].self, from: JSONEncoder().encode([note, .png]))
    #expect(coded == [note, .png] && coded[0].conforms(to: .json))
  }

  @Test func everyParentStandsInTheTable() {
    for type in [UTType.usdz, .mpeg4Audio, .svg, .calendarEvent, .emailMessage, .dng, .epub, .vCard, .threeDContent] {
      #expect(!type.supertypes.isEmpty, "\(type)")
    }
    #expect(UTType.svg.conforms(to: .xml) && UTType.mpeg4Audio.conforms(to: .audio))
  }

  @Test func addressesGetTheExtensionOnce() {
    let folder = URL(fileURLWithPath: "/tmp")
    #expect(folder.appendingPathComponent("photo", conformingTo: .jpeg).path == "/tmp/photo.jpeg")
    #expect(folder.appendingPathComponent("photo.jpg", conformingTo: .jpeg).path == "/tmp/photo.jpg")
  }
}
