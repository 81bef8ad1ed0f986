import { expect, test } from '@jest/globals'
import type { Dispatcher } from 'undici'
import { HANG_LIMIT_MS } from '../../test/support/hang-limit.ts'
import { sendRequest } from './client.ts'

/** A controller of the transport that records whether its request was aborted. */
function createController(): Dispatcher.DispatchController & { wasAborted(): boolean } {
  let aborted = false
  return {
    aborted: false,
    paused: false,
    reason: null,
    abort() {
      aborted = true
    },
    pause() {},
    resume() {},
    wasAborted: () => aborted,
  }
}

const URL_OF_REQUEST = new URL('http://provider.example/')

/** Starts a request over a transport that does nothing by itself, and returns its handler. */
function start(closing: AbortSignal): {
  readonly handler: Dispatcher.DispatchHandler
  readonly response: Promise<unknown>
} {
  let handler: Dispatcher.DispatchHandler = {}
  const dispatch: Dispatcher['dispatch'] = (_options, given) => {
    handler = given
    return true
  }
  const request = { method: 'GET', url: URL_OF_REQUEST.href, timeout_ms: HANG_LIMIT_MS } as const
  return { response: sendRequest({ dispatch }, URL_OF_REQUEST, request, HANG_LIMIT_MS, [closing]), handler }
}

// P4
test('a request that the transport would send again on another connection is not sent again', async () => {
  const { handler, response } = start(new AbortController().signal)
  const first = createController()
  const second = createController()
  handler.onRequestStart?.(first, {})
  handler.onRequestStart?.(second, {})
  expect([first.wasAborted(), second.wasAborted()]).toEqual([false, true])
  handler.onResponseError?.(first, new Error('reset'))
  await expect(response).rejects.toMatchObject({ kind: 'unknown' })
})

// P4
test('a request that failed as not sent is never sent afterwards', async () => {
  const closing = new AbortController()
  const { handler, response } = start(closing.signal)
  closing.abort()
  await expect(response).rejects.toMatchObject({ kind: 'not_sent' })
  const controller = createController()
  handler.onRequestStart?.(controller, {})
  expect(controller.wasAborted()).toBe(true)
})
