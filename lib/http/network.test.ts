import { once } from 'node:events'
import { createServer as createHttp } from 'node:http'
import { connect } from 'node:net'
import { afterEach, expect, test } from '@jest/globals'
import { StartError } from '#lib/base/start-error.ts'
import { connectableHost, formatHostAndPort, listen } from './network.ts'

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

const anywhere = { host: '127.0.0.1', port: 0, variable: 'T_PORT' }

test('a port in use is a StartError that names the variable', async () => {
  const first = await listen(createHttp(), anywhere)
  const second = listen(createHttp(), { ...anywhere, port: first.port })
  await expect(second).rejects.toThrow(StartError)
  await expect(second).rejects.toThrow(/T_PORT/)
  await first.close()
})

test('a host that is not of this machine is a StartError', async () => {
  await expect(listen(createHttp(), { ...anywhere, host: '192.0.2.1' })).rejects.toThrow(/MULTIHUB_HOST/)
})

test('IPv6 hosts are in brackets', () => {
  expect(formatHostAndPort('::1', 80)).toBe('[::1]:80')
  expect(formatHostAndPort('127.0.0.1', 80)).toBe('127.0.0.1:80')
})

test('clients reach a server on all addresses at loopback', async () => {
  const { host_and_port, port, close } = await listen(createHttp(), { ...anywhere, host: '0.0.0.0' })
  expect(host_and_port).toBe(`127.0.0.1:${port}`)
  await close()
  expect(['::', '10.0.0.1', 'gateway'].map(connectableHost)).toEqual(['::1', '10.0.0.1', 'gateway'])
})

// R5
test('draining accepts connections, and every response closes its connection, also those in progress', async () => {
  const draining = new AbortController()
  let finish: () => void = () => {}
  const server = createHttp(({ url }, response) => {
    finish = () => response.end('done')
    if (url === '/') finish()
    else server.emit('arrived')
  })
  const listening = await listen(server, { ...anywhere, draining: draining.signal })
  const request = (path: string) => fetch(`http://${listening.host_and_port}${path}`)
  expect((await request('/')).headers.get('connection')).toBe('keep-alive')
  const arrived = once(server, 'arrived')
  const under_way = request('/slow')
  await arrived
  draining.abort()
  finish()
  for (const answer of [await under_way, await request('/'), await request('/')]) {
    expect(answer.headers.get('connection')).toBe('close')
    expect(await answer.text()).toBe('done')
  }
  await listening.close()
})

test('closing lets a request end, then closes its kept-alive connection', async () => {
  let finish: () => void = () => {}
  const server = createHttp((_request, response) => {
    finish = () => response.end('done')
    server.emit('arrived')
  })
  const listening = await listen(server, anywhere)
  const arrived = once(server, 'arrived')
  const answer = fetch(`http://${listening.host_and_port}/`)
  await arrived
  const closed = listening.close()
  finish()
  expect(await (await answer).text()).toBe('done')
  await closed
})

test('closing ends connections that do not send a byte', async () => {
  const server = createHttp()
  const listening = await listen(server, anywhere)
  const socket = connect(listening.port, '127.0.0.1')
  closers.push(() => socket.destroy())
  await once(server, 'connection')
  const ended = once(socket, 'close')
  socket.resume()
  await listening.close(600_000)
  await ended
})

test('closing answers a request whose connection was accepted just before', async () => {
  const server = createHttp((_request, response) => response.end('done'))
  const listening = await listen(server, anywhere)
  const socket = connect(listening.port, '127.0.0.1')
  closers.push(() => socket.destroy())
  await once(server, 'connection')
  const closed = listening.close()
  socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n')
  let text = ''
  for await (const chunk of socket.setEncoding('utf8')) text += chunk
  expect(text).toContain('done')
  await closed
})

test('closing ends a request that never completes, after the grace time', async () => {
  const server = createHttp(() => server.emit('arrived'))
  const listening = await listen(server, anywhere)
  const arrived = once(server, 'arrived')
  const answer = fetch(`http://${listening.host_and_port}/`)
  const refused = expect(answer).rejects.toThrow()
  await arrived
  await listening.close(50)
  await refused
})
