import { ChildProcess } from 'node:child_process'
import { Server, Socket } from 'node:net'

const CPU_MAX_S = 20
const { listen } = Server.prototype
const { connect } = Socket.prototype
const { spawn } = ChildProcess.prototype
let outside = []
let began

/** Notes what a unit test does outside of its process, so that the test fails even if the code under test goes on. */
const noting = (what, original) =>
  function (...parameters) {
    outside.push(new Error(what))
    return original.apply(this, parameters)
  }

// Jest runs this before each test file of the project `unit`. The next file in this process may be of another project.
beforeAll(() => {
  Server.prototype.listen = noting('listens on a port', listen)
  Socket.prototype.connect = noting('opens a connection', connect)
  ChildProcess.prototype.spawn = noting('starts a process', spawn)
})
afterAll(() => {
  Server.prototype.listen = listen
  Socket.prototype.connect = connect
  ChildProcess.prototype.spawn = spawn
})

beforeEach(() => {
  began = process.cpuUsage()
})
afterEach(() => {
  const found = outside
  outside = []
  if (found.length > 0)
    throw new Error(
      `this unit test ${found[0].message}, so its file belongs to the project system: see test/projects.ts\n${found[0].stack}`,
    )
  // Processor time, because the time of the clock depends on what else this machine does.
  const { user, system } = process.cpuUsage(began)
  const used_s = (user + system) / 1e6
  if (used_s > CPU_MAX_S)
    throw new Error(`this unit test used ${used_s.toFixed()} s of processor time, more than ${CPU_MAX_S} s`)
})
