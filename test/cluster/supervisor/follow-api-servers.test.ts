import { expect, it } from 'vitest'
import { serversIn } from '../../../cluster/supervisor/follow-api-servers.ts'
import type { EndpointSlice } from '../../../components/api/generated/types.ts'

function slice(port: number, ...addresses: [address: string, ready?: boolean][]): EndpointSlice {
  return {
    metadata: { name: `kubernetes-${port}` },
    addressType: 'IPv4',
    ports: [{ name: 'https', port }],
    endpoints: addresses.map(([address, ready]) => ({
      addresses: [address],
      conditions: ready === undefined ? {} : { ready },
    })),
  }
}

it('takes each address with the port of its slice, but for those that are not ready', () => {
  const slices = [
    slice(6444, ['10.0.0.2'], ['10.0.0.3', true]),
    slice(6443, ['10.0.0.1'], ['10.0.0.4', false], ['fd00::1']),
  ]
  expect(serversIn(slices)).toEqual([
    '10.0.0.1:6443',
    '10.0.0.2:6444',
    '10.0.0.3:6444',
    '[fd00::1]:6443',
  ])
})

it('takes each server once, and no more than a load balancer does', () => {
  const many = Array.from({ length: 300 }, (_, at): [string] => [`10.0.${at >> 7}.${at & 127}`])
  expect(serversIn([slice(1, ...many, ...many)])).toHaveLength(100)
  expect(serversIn([{ metadata: {}, addressType: 'IPv4', endpoints: [] }])).toEqual([])
})
