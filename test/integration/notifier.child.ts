import { openNotifier } from '../../services/notifier/notifier-parts.fixture.ts'
import { receiveEvent } from '../../services/notifier/use-cases/receive.ts'

/** A notifier that takes one event in and delivers it; a test kills it when it likes. */
const { directory, event } = JSON.parse(process.argv[2] ?? '{}')

const parts = await openNotifier(directory)
parts.runner.start()
await receiveEvent(parts, Buffer.from(event, 'base64'))
// Lives until it is killed: the timers of lib keep no process alive.
process.stdin.resume()
