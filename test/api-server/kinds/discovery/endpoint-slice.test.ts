import { describe, expect, test } from 'vitest'
import { strategyRuns } from '../../../support/strategy-runs.ts'

const slices = strategyRuns('endpointSlices')
const endpoint = { addresses: ['10.0.0.1'] }

test('ports of a slice speak TCP and have an empty name unless they say otherwise', () => {
  const created = slices.created({
    addressType: 'IPv4',
    endpoints: [endpoint],
    ports: [{ port: 80 }],
  })
  expect(created['ports']).toEqual([{ name: '', port: 80, protocol: 'TCP' }])
})

test('node and zone have fields of their own; the old map is dropped', () => {
  const full = { ...endpoint, nodeName: 'n', zone: 'z', deprecatedTopology: { a: 'b' } }
  const created = slices.created({ addressType: 'IPv4', endpoints: [full] })
  expect(created['endpoints']).toEqual([{ ...endpoint, conditions: {}, nodeName: 'n', zone: 'z' }])
})

describe('a slice', () => {
  test.each<[string, object, string[]]>([
    ['with addresses of its type', { addressType: 'IPv4', endpoints: [endpoint] }, []],
    ['with names', { addressType: 'FQDN', endpoints: [{ addresses: ['a.example.com'] }] }, []],
    ['without endpoints', { addressType: 'IPv6' }, []],
    ['of no type', {}, ['addressType: Required value']],
    [
      'of a type there is not',
      { addressType: 'MAC' },
      ['addressType: Unsupported value: "MAC": supported values: "FQDN", "IPv4", "IPv6"'],
    ],
    [
      'with an endpoint nowhere',
      { addressType: 'IPv4', endpoints: [{}] },
      ['endpoints[0].addresses: Required value: must contain at least 1 address'],
    ],
    [
      'with an address of another type',
      { addressType: 'IPv4', endpoints: [{ addresses: ['fd00::1'] }] },
      ['endpoints[0].addresses[0]: Invalid value: "fd00::1": must be a valid IPv4 address'],
    ],
    [
      'with a port name twice',
      {
        addressType: 'IPv4',
        ports: [
          { name: 'a', port: 1 },
          { name: 'a', port: 2 },
        ],
      },
      ['ports[1].name: Duplicate value: "a"'],
    ],
    [
      'with a zone hint twice',
      {
        addressType: 'IPv4',
        endpoints: [{ ...endpoint, hints: { forZones: [{ name: 'z' }, { name: 'z' }] } }],
      },
      ['endpoints[0].hints.forZones[1].name: Duplicate value: "z"'],
    ],
    [
      'with too many endpoints',
      { addressType: 'IPv4', endpoints: Array.from({ length: 1001 }, () => endpoint) },
      ['endpoints: Too many: 1001: must have at most 1000 items'],
    ],
  ])('%s', (_, slice, faults) => {
    expect(slices.createFaults(slice)).toEqual(faults)
  })

  test('keeps its type', () => {
    const old = slices.created({ addressType: 'IPv4' })
    expect(slices.updateFaults(old, { addressType: 'IPv6' })).toEqual([
      'addressType: Invalid value: "IPv6": field is immutable',
    ])
  })
})
