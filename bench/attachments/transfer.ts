import { once } from 'node:events'
import { Agent, request } from 'node:http'

const agent = new Agent({ keepAlive: true, maxSockets: 256 })

/** Sends the content to a URL, or reads what the URL has. Throws unless the response is a success. */
export async function transfer(
  url: string,
  headers: Readonly<Record<string, string>> = {},
  content?: Buffer,
): Promise<number> {
  const sent = request(url, { agent, method: content === undefined ? 'GET' : 'PUT', headers })
  sent.end(content)
  const [response] = await once(sent, 'response')
  let length = 0
  for await (const chunk of response) length += chunk.length
  if (response.statusCode !== 200) throw new Error(`HTTP ${response.statusCode} from ${url}`)
  return length
}
