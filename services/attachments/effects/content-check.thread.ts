import { serveThread } from '#lib/base/thread.ts'
import { CONTENT_CHECK } from './content-check.ts'

serveThread(CONTENT_CHECK.run)
