/** Ports of the parts of a control plane: wished ones where machines reach each other, others where these are taken. */
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { freePorts, wishedPorts } from '../../../cluster/plan/ports.ts'

const address = '127.0.0.1'

/** Listens on a free port until the test ends. */
async function takenPort(): Promise<number> {
  const server = createServer().listen(0, address)
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

test('a wished port that is taken is replaced, and no port is given twice', async () => {
  const taken = await takenPort()
  const [wished = 0] = await freePorts(address, [0])
  const ports = await freePorts(address, [wished, taken, wished, 0])
  expect(ports[0]).toBe(wished)
  expect(ports).not.toContain(taken)
  expect(new Set(ports).size).toBe(4)
})

test('a port above 65535 is no wish', async () => {
  const [port = 0] = await freePorts(address, [65_536])
  expect(port).toBeGreaterThan(0)
})

test('machines that reach each other wish for ports that a firewall can name, and never for that of the load balancer', () => {
  const machine = { address: '192.0.2.1', port: 6443 }
  expect(wishedPorts(machine, { apiServers: 2 })).toEqual([6444, 6445])
  expect(wishedPorts(machine, { etcdMembers: 2 })).toEqual([2379, 2380, 2381, 2382])
  expect(wishedPorts({ ...machine, port: 2380 }, { etcdMembers: 1 })).toEqual([2379, 0])
})

test('at 127.0.0.1, where many clusters run, there is no wish', () => {
  expect(wishedPorts({ address, port: 6443 }, { apiServers: 1 })).toEqual([0])
  expect(wishedPorts({ address, port: 6443 }, { etcdMembers: 1 })).toEqual([0, 0])
})
