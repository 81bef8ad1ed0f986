/** The points at which a notifier process can be killed, in their order. */
export const CRASH_POINTS = [
  'after the event is stored',
  'before the request',
  'after the response',
  'after the result is stored',
  'in the hand-over',
] as const

/** What a notifier process of these tests does. */
export interface NotifierJob {
  /** Where its embedded store is. */
  readonly directory: string
  /** The events that it receives, in base64. */
  readonly events: readonly string[]
  /** Where it kills itself; without a point it runs until its input ends. */
  readonly point?: (typeof CRASH_POINTS)[number]
}
