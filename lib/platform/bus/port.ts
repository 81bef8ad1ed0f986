/** One message as a subscriber gets it. Headers are ASCII; their names are lower case. */
export interface Message {
  readonly subject: string
  readonly data: Uint8Array
  readonly headers: Readonly<Record<string, string>>
}

/** What a subscriber does with a message. What it throws is logged and goes no further: the bus never retries. */
export type Handler = (message: Message) => Promise<void> | void

/** How many handlers of a subscription run at once, and how many messages may wait for them. */
export const SUBSCRIPTION_DEFAULTS = { concurrency: 64, pending_max: 10_000 } as const

/** A subscription that can be ended. */
export interface Subscription {
  /** Takes no new message and resolves when the handlers under way have ended. */
  close(): Promise<void>
}

/**
 * A carrier of messages and nothing more: at most once, not durable, unordered between subjects. Whatever must not
 * be lost lives in the store until its receiver said that it has stored it too. Subjects are dot-separated; a
 * subscription may use `*` (one token) and `>` (the rest).
 */
export interface Bus {
  /** Hands the message over, or throws `Unavailable` at once when the bus is away. Handing over proves no receipt. */
  publish(subject: string, data: Uint8Array, headers?: Readonly<Record<string, string>>): Promise<void>
  /**
   * Listens. Of the subscribers with the same `queue` name one gets each message. `concurrency` (default 64) bounds
   * the handlers under way; `pending_max` (default 10,000) the messages that wait: beyond it they are dropped and counted.
   */
  subscribe(
    subject: string,
    handler: Handler,
    options?: { queue?: string; concurrency?: number; pending_max?: number },
  ): Promise<Subscription>
  /** Whether a message would be carried now. */
  connected(): boolean
  close(): Promise<void>
}
