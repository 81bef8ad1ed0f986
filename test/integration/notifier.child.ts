import { receiveEvent } from '../../services/notifier/receive.ts'
import { openNotifier } from './notifier.parts.ts'

/** A notifier that takes one event in and delivers it; a test kills it when it likes. */
const { directory, event } = JSON.parse(process.argv[2] ?? '{}')

const parts = await openNotifier(directory)
parts.runner.start()
await receiveEvent(parts, Buffer.from(event, 'base64'))
// Lives until it is killed: the timers of lib keep no process alive.
process.stdin.resume()
