import { createServer, type Socket } from 'node:net'
import { BSON, type Document } from 'mongodb'
import { type Listening, listen } from '#lib/http/network.ts'

/** A server that speaks the protocol of MongoDB and gives the responses of a script. */
export interface ScriptedServer {
  readonly uri: string
  /** The commands that it got, apart from those that keep a connection, in order. */
  readonly commands: readonly Document[]
  close: Listening['close']
}

const SENT = { ignoreUndefined: true }
const OP_MSG = 2_013
const OP_QUERY = 2_004
const HEADER_BYTES = 16
/** Of a driver that asks for the state of the server only. */
const OF_CONNECTIONS = ['hello', 'isMaster', 'ismaster', 'ping']

const HELLO = {
  ok: 1,
  isWritablePrimary: true,
  ismaster: true,
  helloOk: true,
  setName: 'scripted',
  maxBsonObjectSize: 16_777_216,
  maxMessageSizeBytes: 48_000_000,
  maxWriteBatchSize: 100_000,
  logicalSessionTimeoutMinutes: 30,
  minWireVersion: 0,
  maxWireVersion: 25,
}

/** What the router of a sharded cluster says about itself instead. */
export const ROUTER: Document = { setName: undefined, msg: 'isdbgrid' }

/** Starts a server that answers each command as `respond` says; `{ ok: 1 }` where that is `undefined`. */
export async function startScriptedServer(
  respond: (command: Document) => Document | undefined,
  hello: Document = {},
): Promise<ScriptedServer> {
  const commands: Document[] = []
  const answer = (command: Document): Document => {
    const [name = ''] = Object.keys(command)
    if (OF_CONNECTIONS.includes(name)) return name === 'ping' ? { ok: 1 } : { ...HELLO, ...hello }
    commands.push(command)
    return respond(command) ?? { ok: 1 }
  }
  const server = createServer((socket) => serveMessages(socket, answer))
  const listening = await listen(server, { host: '127.0.0.1', port: 0, variable: 'T_PORT' })
  const uri = `mongodb://${listening.host_and_port}/?directConnection=true`
  return { uri, commands, close: listening.close }
}

function serveMessages(socket: Socket, answer: (command: Document) => Document): void {
  let bytes = Buffer.alloc(0)
  socket.on('error', () => {})
  socket.on('data', (part: Buffer) => {
    bytes = Buffer.concat([bytes, part])
    while (bytes.length >= 4 && bytes.length >= bytes.readInt32LE(0)) {
      const length = bytes.readInt32LE(0)
      socket.write(responseTo(bytes.subarray(0, length), answer))
      bytes = bytes.subarray(length)
    }
  })
}

/** The command is the section of kind 0 of a message, or the query with which a driver introduces itself. */
function responseTo(message: Buffer, answer: (command: Document) => Document): Buffer {
  const request_id = message.readInt32LE(4)
  const opcode = message.readInt32LE(12)
  if (opcode === OP_QUERY) {
    const name_end = message.indexOf(0, HEADER_BYTES + 4)
    const body = BSON.serialize(answer(BSON.deserialize(message.subarray(name_end + 9))), SENT)
    const reply = Buffer.alloc(20)
    reply.writeInt32LE(1, 16)
    return framed(request_id, 1, Buffer.concat([reply, body]))
  }
  const body = BSON.serialize(answer(BSON.deserialize(message.subarray(HEADER_BYTES + 5))), SENT)
  return framed(request_id, OP_MSG, Buffer.concat([Buffer.alloc(5), body]))
}

function framed(response_to: number, opcode: number, content: Buffer): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeInt32LE(HEADER_BYTES + content.length, 0)
  header.writeInt32LE(response_to, 8)
  header.writeInt32LE(opcode, 12)
  return Buffer.concat([header, content])
}
