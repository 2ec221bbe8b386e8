public import Foundation
import Synchronization
package import VirgaWire

/// How the pushes of a subscription are to look.
///
/// On Linux an archive can only name classes at the top level, so `CKSubscription.NotificationInfo` is another name for
/// this class.
public final class CKNotificationInfo: NSObject, NSSecureCoding, NSCopying, Sendable {
  private let state: Mutex<NotificationInfo>

  public convenience override init() { self.init(NotificationInfo()) }

  package init(_ model: NotificationInfo) { state = Mutex(model) }

  package var model: NotificationInfo { state.withLock { $0 } }

  /// Makes the looks of pushes. What is left out is not shown.
  public convenience init(
    alertBody: String? = nil,
    alertLocalizationKey: String? = nil,
    alertLocalizationArgs: [CKRecord.FieldKey] = [],
    title: String? = nil,
    titleLocalizationKey: String? = nil,
    titleLocalizationArgs: [CKRecord.FieldKey] = [],
    subtitle: String? = nil,
    subtitleLocalizationKey: String? = nil,
    subtitleLocalizationArgs: [CKRecord.FieldKey] = [],
    alertActionLocalizationKey: String? = nil,
    alertLaunchImage: String? = nil,
    soundName: String? = nil,
    desiredKeys: [CKRecord.FieldKey] = [],
    shouldBadge: Bool = false,
    shouldSendContentAvailable: Bool = false,
    shouldSendMutableContent: Bool = false,
    category: String? = nil,
    collapseIDKey: String? = nil
  ) {
    var model = NotificationInfo()
    model.alertBody = alertBody
    model.alertLocalizationKey = alertLocalizationKey
    model.alertLocalizationArgs = alertLocalizationArgs.isEmpty ? nil : alertLocalizationArgs
    model.title = title
    model.titleLocalizationKey = titleLocalizationKey
    model.titleLocalizationArgs = titleLocalizationArgs.isEmpty ? nil : titleLocalizationArgs
    model.subtitle = subtitle
    model.subtitleLocalizationKey = subtitleLocalizationKey
    model.subtitleLocalizationArgs = subtitleLocalizationArgs.isEmpty ? nil : subtitleLocalizationArgs
    model.alertActionLocalizationKey = alertActionLocalizationKey
    model.alertLaunchImage = alertLaunchImage
    model.soundName = soundName
    model.additionalFields = desiredKeys.isEmpty ? nil : desiredKeys
    model.shouldBadge = shouldBadge
    model.shouldSendContentAvailable = shouldSendContentAvailable
    model.shouldSendMutableContent = shouldSendMutableContent
    model.category = category
    model.collapseIDKey = collapseIDKey
    self.init(model)
  }

  /// The text to show.
  public var alertBody: String? {
    get { state.withLock { $0.alertBody } }
    set { state.withLock { $0.alertBody = newValue } }
  }

  /// A key of the app's texts, to show instead of `alertBody`.
  public var alertLocalizationKey: String? {
    get { state.withLock { $0.alertLocalizationKey } }
    set { state.withLock { $0.alertLocalizationKey = newValue } }
  }

  /// Names of fields whose values fill the text's placeholders, in order.
  public var alertLocalizationArgs: [CKRecord.FieldKey]? {
    get { state.withLock { $0.alertLocalizationArgs } }
    set { state.withLock { $0.alertLocalizationArgs = newValue } }
  }

  /// The title to show.
  public var title: String? {
    get { state.withLock { $0.title } }
    set { state.withLock { $0.title = newValue } }
  }

  /// A key of the app's texts, to show instead of `title`.
  public var titleLocalizationKey: String? {
    get { state.withLock { $0.titleLocalizationKey } }
    set { state.withLock { $0.titleLocalizationKey = newValue } }
  }

  /// Names of fields whose values fill the title's placeholders, in order.
  public var titleLocalizationArgs: [CKRecord.FieldKey]? {
    get { state.withLock { $0.titleLocalizationArgs } }
    set { state.withLock { $0.titleLocalizationArgs = newValue } }
  }

  /// The line to show below the title.
  public var subtitle: String? {
    get { state.withLock { $0.subtitle } }
    set { state.withLock { $0.subtitle = newValue } }
  }

  /// A key of the app's texts, to show instead of `subtitle`.
  public var subtitleLocalizationKey: String? {
    get { state.withLock { $0.subtitleLocalizationKey } }
    set { state.withLock { $0.subtitleLocalizationKey = newValue } }
  }

  /// Names of fields whose values fill the subtitle's placeholders, in order.
  public var subtitleLocalizationArgs: [CKRecord.FieldKey]? {
    get { state.withLock { $0.subtitleLocalizationArgs } }
    set { state.withLock { $0.subtitleLocalizationArgs = newValue } }
  }

  /// A key of the app's texts, for the button that opens the push.
  public var alertActionLocalizationKey: String? {
    get { state.withLock { $0.alertActionLocalizationKey } }
    set { state.withLock { $0.alertActionLocalizationKey = newValue } }
  }

  /// The name of the picture to show while the app starts.
  public var alertLaunchImage: String? {
    get { state.withLock { $0.alertLaunchImage } }
    set { state.withLock { $0.alertLaunchImage = newValue } }
  }

  /// The name of the sound to play.
  public var soundName: String? {
    get { state.withLock { $0.soundName } }
    set { state.withLock { $0.soundName = newValue } }
  }

  /// Fields whose values come with the push; at most three, cut to 100 characters each.
  public var desiredKeys: [CKRecord.FieldKey]? {
    get { state.withLock { $0.additionalFields } }
    set { state.withLock { $0.additionalFields = newValue } }
  }

  /// Whether the app's badge counts up.
  public var shouldBadge: Bool {
    get { state.withLock { $0.shouldBadge } }
    set { state.withLock { $0.shouldBadge = newValue } }
  }

  /// Whether the push wakes the app silently.
  public var shouldSendContentAvailable: Bool {
    get { state.withLock { $0.shouldSendContentAvailable } }
    set { state.withLock { $0.shouldSendContentAvailable = newValue } }
  }

  /// Whether the app may change the push before it is shown.
  public var shouldSendMutableContent: Bool {
    get { state.withLock { $0.shouldSendMutableContent } }
    set { state.withLock { $0.shouldSendMutableContent = newValue } }
  }

  /// The group of actions that a push offers.
  public var category: String? {
    get { state.withLock { $0.category } }
    set { state.withLock { $0.category = newValue } }
  }

  /// A field whose value tells pushes that replace one another.
  public var collapseIDKey: String? {
    get { state.withLock { $0.collapseIDKey } }
    set { state.withLock { $0.collapseIDKey = newValue } }
  }

  public static var supportsSecureCoding: Bool { true }
  public convenience init?(coder: NSCoder) {
    guard let model = coder.archived(NotificationInfo.self) else { return nil }
    self.init(model)
  }
  public func encode(with coder: NSCoder) { coder.archive(model) }

  public func copy(with zone: NSZone? = nil) -> Any { CKNotificationInfo(model) }
  public override func isEqual(_ object: Any?) -> Bool { (object as? CKNotificationInfo)?.model == model }
  public override var hash: Int { model.hashValue }
}
