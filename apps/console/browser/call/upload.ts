import { Code, ConnectError } from '@connectrpc/connect'
import { codeOfHttp } from '../../values/problem.ts'

/** Sends a file to a path of the back office, and says what share of it is sent. Throws `ConnectError`. */
export function uploadFile(
  path: string,
  file: File,
  { mime_type, reason }: { readonly mime_type: string; readonly reason: string },
  onProgress: (share: number) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    // `fetch` does not say how much of a body is sent.
    const request = new XMLHttpRequest()
    request.open('PUT', path)
    request.setRequestHeader('x-multihub-csrf', '1')
    request.setRequestHeader('content-type', mime_type)
    if (reason !== '') request.setRequestHeader('x-multihub-reason', encodeURIComponent(reason))
    request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 1 : loaded / total)
    request.onerror = () => reject(new ConnectError('the file did not arrive', Code.Unavailable))
    request.onload = () => {
      if (request.status === 200) resolve()
      else reject(new ConnectError(messageOf(request), codeOf(request)))
    }
    request.send(file)
  })
}

/** A refusal is clear; after a failure of a server or a proxy the file can have arrived. */
function codeOf({ status }: XMLHttpRequest): Code {
  return status >= 400 && status < 500 && status !== 401 ? Code.FailedPrecondition : codeOfHttp(status)
}

function messageOf({ responseText, status }: XMLHttpRequest): string {
  try {
    return String(JSON.parse(responseText).message)
  } catch {
    return `the back office answered HTTP ${status}`
  }
}
