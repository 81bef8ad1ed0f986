import { type Bus, type Message, SUBSCRIPTION_DEFAULTS } from '#lib/bus/bus.ts'
import { assertMessage, assertPattern, createSubjectMatcher } from '#lib/bus/subject.ts'
import { createSubscriptionQueue, type SubscriptionQueue } from '#lib/bus/subscription-queue.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Partitions } from './partitions.ts'
import type { Choices } from './random.ts'
import type { Machine, SimulatedProcess } from './simulated-process.ts'
import type { Trace } from './trace.ts'

/** What can go wrong with messages, as probabilities. */
export interface BusFaults {
  lost: number
  repeated: number
  /** A message is late by up to `late_max_ms`, so that later ones overtake it. */
  late: number
  late_max_ms: number
  /** While this is true, no process can publish or receive. */
  is_down: boolean
  /** How often an attacker acts when it sees an event. */
  attacked: number
}

/** A message as whoever may read the bus sees it. */
export type SeenMessage = Pick<Message, 'subject' | 'data' | 'headers'>

/** The server that carries messages between simulated processes. */
export interface SimulatedBus {
  readonly faults: BusFaults
  /** The bus as one process sees it. */
  connect(process: SimulatedProcess): Bus
  /** Sees all messages of processes from now on. What it does with `send` looks like a message of a process. */
  attack(onMessage: (message: SeenMessage) => void): { send(message: SeenMessage): void }
}

/** The connection of one process. */
interface Connection {
  readonly process: SimulatedProcess
  /** When the last message arrives that is not late. A connection keeps the order of those. */
  arrival_ms: number
}

interface Subscriber {
  readonly connection: Connection
  readonly matches: (tokens: readonly string[]) => boolean
  readonly queue_group: string | undefined
  readonly messages: SubscriptionQueue
}

/** Makes a bus without faults. `onPublish` gets each message that a process hands to the bus, also one that is lost. */
export function createSimulatedBus(
  machine: Machine,
  choices: Choices,
  trace: Trace,
  partitions: Pick<Partitions, 'isCut'>,
  onPublish: (subject: string, data: Uint8Array) => void = () => {},
): SimulatedBus {
  const subscribers = new Set<Subscriber>()
  let seen: (message: SeenMessage) => void = () => {}
  const faults: BusFaults = { lost: 0, repeated: 0, late: 0, late_max_ms: 0, is_down: false, attacked: 0 }

  function arrivalMs(connection: Connection): number {
    const now_ms = machine.scheduler.now_ms()
    if (choices.chance(faults.late)) return now_ms + choices.between(1, faults.late_max_ms)
    connection.arrival_ms = Math.max(connection.arrival_ms, now_ms + choices.between(0.1, 1))
    return connection.arrival_ms
  }

  function send(subject: string, data: Uint8Array, headers: Readonly<Record<string, string>>): void {
    const message = Object.freeze({ subject, data: data.slice(), headers: Object.freeze({ ...headers }) })
    for (const [connection, queues] of receiversOf(subscribers, subject, choices)) {
      const { process } = connection
      const copies = choices.chance(faults.lost) ? 0 : choices.chance(faults.repeated) ? 2 : 1
      if (copies !== 1) trace.add(`bus ${subject} to ${process.name}: ${copies} copies`)
      for (let copy = 0; copy < copies; copy += 1) {
        machine.schedule(process, arrivalMs(connection), () => {
          if (partitions.isCut('bus', process)) return
          for (const messages of queues) messages.accept(message)
        })
      }
    }
  }

  return {
    faults,
    attack(onMessage) {
      seen = onMessage
      return { send: ({ subject, data, headers }) => send(subject, data, headers) }
    },
    connect(process) {
      const connection: Connection = { process, arrival_ms: 0 }
      let is_closed = false
      const assertConnected = (): void => {
        if (is_closed || faults.is_down) throw new Unavailable('the bus is not connected')
      }
      return {
        async publish(subject, data, headers = {}) {
          assertConnected()
          assertMessage(subject, data, headers)
          trace.add(`bus ${process.name} publishes ${subject} ${data.length}`)
          onPublish(subject, data)
          if (partitions.isCut(process, 'bus')) return
          send(subject, data, headers)
          seen({ subject, data, headers })
        },
        async subscribe(pattern, handler, options = {}) {
          if (is_closed) throw new Unavailable('the bus is closed')
          assertPattern(pattern)
          const { queue_group, ...limits } = { queue_group: undefined, ...SUBSCRIPTION_DEFAULTS, ...options }
          const messages = createSubscriptionQueue(handler, { pattern, ...limits })
          const matches = createSubjectMatcher(pattern)
          const subscriber: Subscriber = { connection, matches, queue_group, messages }
          subscribers.add(subscriber)
          return {
            close() {
              subscribers.delete(subscriber)
              return messages.close()
            },
          }
        },
        isConnected: () => !is_closed && !faults.is_down,
        async close() {
          is_closed = true
          const closed = [...subscribers].filter((subscriber) => subscriber.connection === connection)
          for (const subscriber of closed) subscribers.delete(subscriber)
          await Promise.all(closed.map(({ messages }) => messages.close()))
        },
      }
    },
  }
}

/** The queues of all matching subscribers without a queue group and of one of each group, by connection. */
function receiversOf(
  subscribers: Set<Subscriber>,
  subject: string,
  choices: Choices,
): ReadonlyMap<Connection, readonly SubscriptionQueue[]> {
  const receivers: Subscriber[] = []
  const groups = new Map<string, Subscriber[]>()
  const tokens = subject.split('.')
  for (const subscriber of subscribers) {
    const { queue_group } = subscriber
    if (!subscriber.connection.process.is_alive) subscribers.delete(subscriber)
    else if (!subscriber.matches(tokens)) continue
    else if (queue_group === undefined) receivers.push(subscriber)
    else groups.set(queue_group, [...(groups.get(queue_group) ?? []), subscriber])
  }
  for (const group of groups.values()) receivers.push(choices.pick(group))
  const queues = new Map<Connection, SubscriptionQueue[]>()
  for (const { connection, messages } of receivers) {
    queues.set(connection, [...(queues.get(connection) ?? []), messages])
  }
  return queues
}
