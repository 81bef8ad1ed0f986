import { once } from 'node:events'
import type { Collection, CollectionSpec, Store } from '#lib/store/store.ts'
import type { MakeAttempt } from '../../services/notifier/delivery/make-attempt.ts'
import { openNotifier } from '../../services/notifier/notifier.fixture.ts'
import { receiveEvent } from '../../services/notifier/use-cases/receive-event.ts'
import type { NotifierJob } from './notifier-crash.fixture.ts'

// A notifier process that receives events and kills itself at the given point, or stops itself at the next line of stdin.
const { directory, events, point }: NotifierJob = JSON.parse(process.argv[2] ?? '{}')

/** A write of this process. */
interface StoreWrite {
  readonly kind: 'insert' | 'replace' | 'delete'
  readonly collection: string
  readonly document: object
}

const never = new Promise<never>(() => {})
let resume = Promise.resolve()
let writes_in_progress = 0

function killSelf(): Promise<never> {
  process.kill(process.pid, 'SIGKILL')
  return never
}

/** Stops this process between two writes: a stopped process that writes blocks the writes of all others. */
async function pauseSelf(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  resume = promise
  while (writes_in_progress > 0) await new Promise(setImmediate)
  process.kill(process.pid, 'SIGSTOP')
  resolve()
}

/** Whether a write is the last one before the point. */
function isLast({ kind, collection, document }: StoreWrite): boolean {
  const written = `${kind} ${collection}`
  if (point === 'after the event is stored') return written === 'insert events'
  if (point === 'after the result is stored')
    return written === 'replace deliveries' && 'status' in document && document.status === 'delivered'
  return (
    point === 'in the hand-over' &&
    written === 'replace destinations' &&
    !('lease' in document && document.lease !== undefined)
  )
}

async function write<T>(about: StoreWrite, act: () => Promise<T>): Promise<T> {
  await resume
  writes_in_progress += 1
  try {
    const written = await act()
    return isLast(about) ? await killSelf() : written
  } finally {
    writes_in_progress -= 1
  }
}

function wrapStore(store: Store): Store {
  return {
    ...store,
    async collection<D extends object>(spec: CollectionSpec): Promise<Collection<D>> {
      const real = await store.collection<D>(spec)
      const { name: collection } = spec
      return {
        ...real,
        insert: (document, options) =>
          write({ kind: 'insert', collection, document }, () => real.insert(document, options)),
        replace: (document, version) =>
          write({ kind: 'replace', collection, document }, () => real.replace(document, version)),
        delete: (key, version) =>
          write({ kind: 'delete', collection, document: key }, () => real.delete(key, version)),
      }
    },
  }
}

const wrapAttempt =
  (makeAttempt: MakeAttempt): MakeAttempt =>
  async (...attempt) => {
    if (point === 'before the request') return await killSelf()
    const outcome = await makeAttempt(...attempt)
    process.stdout.write('answered\n')
    return point === 'after the response' ? await killSelf() : outcome
  }

const notifier = await openNotifier(directory, { wrapStore, wrapAttempt })
await notifier.pipeline.start()
await Promise.all(events.map((event) => receiveEvent(notifier, Buffer.from(event, 'base64'))))
if (point === 'in the hand-over') await notifier.pipeline.leave()
// The timers of lib do not keep a process alive; reading stdin does.
process.stdin.on('data', () => void pauseSelf())
await once(process.stdin, 'end')
await notifier.close()
