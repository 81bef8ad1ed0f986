import { useState } from 'react'
import type { Act } from '../../forms/act.ts'
import { OperationIds, type UnclearRequests } from '../../forms/operation-ids.ts'
import type { Machine } from '../../forms/run-act.ts'
import { callRpc } from '../call/call-rpc.ts'
import { delay, newOperationId } from '../call/machine.ts'
import { uploadFile } from '../call/upload.ts'

const PAUSE_MS = 500

/** The parts of the browser that an act needs, under the reason of the person. */
export function machineOf(reason: string, progress: (sentence: string) => void): Machine {
  const options = reason === '' ? {} : { reason }
  return {
    call: (method, request) => callRpc(method, request, options),
    upload: (path, file, mime_type) =>
      uploadFile(path, file as File, { mime_type, reason }, (share) =>
        progress(`${Math.floor(share * 100)} % of the file is sent…`),
      ),
    progress,
    pause: () => delay(PAUSE_MS),
  }
}

/** It is kept while the page is not loaded again. */
const unclear: UnclearRequests = new Map()

/** The idempotency keys of the decisions in this dialog. */
export function useOperationIds<T>(act: Act<T>, item: T): OperationIds<T> {
  return useState(() => new OperationIds(act, item, unclear, newOperationId))[0]
}
