import { openNotifier } from '../../services/notifier/notifier.fixture.ts'
import { receiveEvent } from '../../services/notifier/use-cases/receive-event.ts'

// A notifier process that receives one event and delivers it, until the test kills it.
const { directory, event } = JSON.parse(process.argv[2] ?? '{}')

const notifier = await openNotifier(directory)
await notifier.pipeline.start()
await receiveEvent(notifier, Buffer.from(event, 'base64'))
// The timers of lib do not keep a process alive; reading stdin does.
process.stdin.resume()
