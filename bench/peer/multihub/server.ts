import { createServer } from 'node:http'
import { startNotifierSystem } from '../../notifier/notifier-system.ts'

/** The notifier as a program of the protocol of `bench/peer/README.md`. */
const urls: string[] = JSON.parse(process.env['PEER_ENDPOINTS'] ?? '[]')
const system = await startNotifierSystem(urls)

const server = createServer(async (request, response) => {
  if (request.method === 'GET') {
    response.end(JSON.stringify({ idle: await system.isIdle() }))
    return
  }
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) body += chunk
  // The notifier makes the body of a callback from the event, so it takes the reference of the given one.
  const c_id = /"c_id":"([^"]*)"/.exec(body)?.[1] ?? ''
  const publishEvent = system.newEvent(urls.indexOf(String(request.headers['x-endpoint'])), c_id)
  await publishEvent()
  response.writeHead(202).end()
})
server.listen(4191, '127.0.0.1')
process.on('SIGTERM', () => void system.stop().finally(() => process.exit(0)))
