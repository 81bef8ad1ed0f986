import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { type Bus, SUBSCRIPTION_DEFAULTS } from '#lib/platform/bus/bus.ts'
import { assertMessage, assertPattern, createSubjectMatcher } from '#lib/platform/bus/subject.ts'
import { createSubscriptionQueue, type SubscriptionQueue } from '#lib/platform/bus/subscription-queue.ts'
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
}

/** The server that carries messages between simulated processes. */
export interface SimulatedBus {
  readonly faults: BusFaults
  /** The bus as one process sees it. */
  connect(process: SimulatedProcess): Bus
}

interface Subscriber {
  readonly process: SimulatedProcess
  readonly matches: (tokens: readonly string[]) => boolean
  readonly queue: string | undefined
  readonly messages: SubscriptionQueue
}

/** Makes a bus without faults. */
export function createSimulatedBus(machine: Machine, choices: Choices, trace: Trace): SimulatedBus {
  const subscribers = new Set<Subscriber>()
  const faults: BusFaults = { lost: 0, repeated: 0, late: 0, late_max_ms: 0, is_down: false }

  const delayMs = (): number =>
    choices.chance(faults.late) ? choices.between(1, faults.late_max_ms) : choices.between(0.1, 1)

  function send(subject: string, data: Uint8Array, headers: Readonly<Record<string, string>>): void {
    const message = Object.freeze({ subject, data: data.slice(), headers: Object.freeze({ ...headers }) })
    for (const { process, messages } of receiversOf(subscribers, subject, choices)) {
      const copies = choices.chance(faults.lost) ? 0 : choices.chance(faults.repeated) ? 2 : 1
      if (copies !== 1) trace.add(`bus ${subject} to ${process.name}: ${copies} copies`)
      for (let copy = 0; copy < copies; copy += 1) {
        machine.schedule(process, machine.scheduler.now_ms() + delayMs(), () => messages.accept(message))
      }
    }
  }

  return {
    faults,
    connect(process) {
      let is_closed = false
      const assertConnected = (): void => {
        if (is_closed || faults.is_down) throw new Unavailable('the bus is not connected')
      }
      return {
        async publish(subject, data, headers = {}) {
          assertConnected()
          assertMessage(subject, data, headers)
          trace.add(`bus ${process.name} publishes ${subject} ${data.length}`)
          send(subject, data, headers)
        },
        async subscribe(pattern, handler, options = {}) {
          if (is_closed) throw new Unavailable('the bus is closed')
          assertPattern(pattern)
          const { queue, ...limits } = { queue: undefined, ...SUBSCRIPTION_DEFAULTS, ...options }
          const messages = createSubscriptionQueue(handler, { pattern, ...limits })
          const subscriber = { process, matches: createSubjectMatcher(pattern), queue, messages }
          subscribers.add(subscriber)
          return {
            close() {
              subscribers.delete(subscriber)
              return messages.close()
            },
          }
        },
        connected: () => !is_closed && !faults.is_down,
        async close() {
          is_closed = true
          for (const subscriber of [...subscribers]) {
            if (subscriber.process === process) subscribers.delete(subscriber)
          }
        },
      }
    },
  }
}

/** The matching subscribers of live processes: all without a queue name, and one of each queue. */
function receiversOf(subscribers: Set<Subscriber>, subject: string, choices: Choices): readonly Subscriber[] {
  const receivers: Subscriber[] = []
  const queues = new Map<string, Subscriber[]>()
  const tokens = subject.split('.')
  for (const subscriber of subscribers) {
    if (!subscriber.process.is_alive) subscribers.delete(subscriber)
    else if (!subscriber.matches(tokens)) continue
    else if (subscriber.queue === undefined) receivers.push(subscriber)
    else queues.set(subscriber.queue, [...(queues.get(subscriber.queue) ?? []), subscriber])
  }
  return [...receivers, ...[...queues.values()].map((queue) => choices.pick(queue))]
}
