import { createServer } from 'node:http'
import { expect, test } from '@jest/globals'
import { fastify } from 'fastify'
import { listen } from '#lib/http/network.ts'
import { createPathHandler, type HttpPath } from './http-paths.ts'

// O21: else a browser would keep the beginning of a file as the whole.
test('a response that fails after its beginning is cut off, so that nobody takes it for complete', async () => {
  const path: HttpPath = {
    method: 'GET',
    path: '/x',
    async serve({ response }) {
      response.writeHead(200)
      await new Promise((resolve) => response.write('the first bytes', resolve))
      throw new Error('the rest is lost')
    },
  }
  const app = fastify()
  app.route({
    method: 'GET',
    url: '/x',
    handler: createPathHandler(path, { markAuthenticated: () => {} }, () => undefined),
  })
  await app.ready()
  const server = createServer((request, response) => app.routing(request, response))
  const listening = await listen(server, { host: '127.0.0.1', port: 0, variable: 'none' })
  const response = await fetch(`http://${listening.host_and_port}/x`)
  expect(response.status).toBe(200)
  await expect(response.text()).rejects.toThrow()
  await listening.close(0)
  await app.close()
})
