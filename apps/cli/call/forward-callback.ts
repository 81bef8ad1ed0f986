/** What a program on this machine answers to a callback. */
export type LocalAnswer =
  | { readonly kind: 'answered'; readonly status: number; readonly text: string }
  | { readonly kind: 'unreachable'; readonly reason: string }

const TIMEOUT_MS = 30_000

/** The most of an answer that is read: it is only shown. */
const TEXT_MAX = 2_000

/** Sends the exact bytes and headers of a callback to a program on this machine. Never throws. */
export async function forwardCallback(
  target: URL,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array,
): Promise<LocalAnswer> {
  try {
    const response = await fetch(target, {
      method: 'POST',
      headers,
      body: new Uint8Array(body),
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    return { kind: 'answered', status: response.status, text: await readBeginning(response) }
  } catch (error) {
    const { cause, message } = error as Error & { readonly cause?: Error }
    return { kind: 'unreachable', reason: cause?.message || message }
  }
}

async function readBeginning({ body }: Response): Promise<string> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length >= TEXT_MAX) break
  }
  return text.slice(0, TEXT_MAX)
}
