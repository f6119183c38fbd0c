import { describe, expect, it, test } from 'vitest'
import { defaultFeatureGates } from '../../../../components/api/feature-gates.ts'
import { loadedStrategyRuns, strategyRuns } from '../../../support/strategy-runs.ts'

const driver = 'gpu.example.com'
const contains = (text: string): string => expect.stringContaining(text) as string
const cel = (expression: string) => [{ cel: { expression } }]
const request = { name: 'r', deviceClassName: 'gpu' }
const claimWith = (devices: object) => ({ spec: { devices } })
const opaque = (parameters: unknown) => ({ opaque: { driver, parameters } })

describe('selectors of devices', async () => {
  const claims = await loadedStrategyRuns('resourceClaims')
  const classes = await loadedStrategyRuns('deviceClasses')
  const templates = await loadedStrategyRuns('resourceClaimTemplates')

  test('are compiled when they are written', () => {
    const wrong = { requests: [{ ...request, selectors: cel('device.x') }] }
    const fault = 'selectors[0].cel.expression: Invalid value: "device.x": compilation failed'
    expect(claims.createFaults(claimWith(wrong))).toEqual([
      contains(`spec.devices.requests[0].${fault}`),
    ])
    expect(templates.createFaults({ spec: claimWith(wrong) })).toEqual([
      contains(`spec.spec.devices.requests[0].${fault}`),
    ])
    expect(classes.createFaults({ spec: { selectors: cel('device.x') } })).toEqual([
      contains(`spec.${fault}`),
    ])
    expect(classes.createFaults({ spec: { selectors: cel('device.driver') } })).toEqual([
      contains('must evaluate to bool or the unknown type, not string'),
    ])
  })

  test('stay valid while they are not changed', () => {
    const old = classes.created({ spec: { selectors: cel('device.x') } })
    expect(classes.updateFaults(old, { spec: { selectors: cel('device.x') } })).toEqual([])
    expect(classes.updateFaults(old, { spec: { selectors: cel('device.y') } })).toHaveLength(1)
  })

  test('are bounded in length and cost', () => {
    const long = cel(`device.driver == "${'x'.repeat(11_000)}"`)
    expect(classes.createFaults({ spec: { selectors: long } })).toEqual([
      'spec.selectors[0].cel.expression: Too long: may not be more than 10240 bytes',
    ])
    const loops = ['a', 'b', 'c', 'd'].map((name) => `device.attributes.all(${name}, `).join('')
    const costly = cel(`${loops}a + b + c == d))))`)
    expect(classes.createFaults({ spec: { selectors: costly } })).toEqual([
      'spec.selectors[0].cel.expression: Forbidden: too complex, exceeds cost limit',
    ])
    const many = Array.from({ length: 33 }, () => cel('true')[0])
    expect(classes.createFaults({ spec: { selectors: many } })).toEqual([
      contains('spec.selectors: Too many: 33: must have at most 32 items'),
    ])
    expect(classes.createFaults({ spec: { selectors: [{}] } })).toEqual([
      'spec.selectors[0].cel: Required value',
    ])
  })
})

describe('a claim', () => {
  const claims = strategyRuns('resourceClaims')

  test.each([
    [
      { requests: [request], constraints: [{ requests: ['x'], matchAttribute: `${driver}/numa` }] },
      'spec.devices.constraints[0].requests[0]: Invalid value: "x": must be the name of a request in the claim',
    ],
    [
      { requests: [request], constraints: [{}] },
      'spec.devices.constraints[0].matchAttribute: Required value',
    ],
    [
      { requests: [request], constraints: [{ matchAttribute: 'numa' }] },
      'spec.devices.constraints[0].matchAttribute.domain: Required value: must include a prefix',
    ],
    [
      { requests: [request], config: [{ requests: ['r', 'r'], ...opaque({}) }] },
      'spec.devices.config[0].requests[1]: Duplicate value: "r"',
    ],
    [{ requests: [request], config: [{}] }, 'spec.devices.config[0].opaque: Required value'],
    [
      { requests: [request], config: [opaque(['a'])] },
      'spec.devices.config[0].opaque.parameters: Invalid value: "<value omitted>": parameters must be a valid JSON object',
    ],
    [{ requests: [{ name: 'r' }] }, 'spec.devices.requests[0].deviceClassName: Required value'],
  ])('is checked: %j', (devices, fault) => {
    expect(claims.createFaults(claimWith(devices))).toEqual([fault])
  })

  it('of any size is refused in no time', () => {
    const requests = Array.from({ length: 60_000 }, (_, i) => ({ ...request, name: `r${i}` }))
    const before = process.cpuUsage()
    expect(claims.createFaults(claimWith({ requests }))).toEqual([
      'spec.devices.requests: Too many: 60000: must have at most 32 items',
    ])
    expect(process.cpuUsage(before).user).toBeLessThan(2_500_000)
  })

  it('comes with a warning while the gate is off', () => {
    const object = claimWith({ requests: [request] })
    expect(claims.warnings(object)).toEqual([contains('DynamicResourceAllocation is off')])
    const gates = { ...defaultFeatureGates, DynamicResourceAllocation: true }
    expect(strategyRuns('resourceClaims', { gates }).warnings(object)).toEqual([])
  })

  it('asks for admin access only with the gate', () => {
    const devices = { requests: [{ ...request, adminAccess: true }] }
    const accessIn = (runs: typeof claims) =>
      runs.created(claimWith(devices))['spec'].devices.requests[0].adminAccess as unknown
    expect(accessIn(claims)).toBeUndefined()
    const gates = { ...defaultFeatureGates, DRAAdminAccess: true }
    expect(accessIn(strategyRuns('resourceClaims', { gates }))).toBe(true)
  })
})

describe('the status of a claim', () => {
  const claims = strategyRuns('resourceClaims')
  const spec = { devices: { requests: [request] } }
  const result = { request: 'r', driver, pool: 'p', device: 'd1' }
  const allocation = { devices: { results: [result] } }
  const user = (name: string) => ({ resource: 'pods', name, uid: `uid-${name}` })
  const faults = (before: object, now: object, metadata = {}) =>
    claims.updateFaults(
      { ...claims.created({ spec, metadata }), status: before },
      { spec, status: now, metadata },
      'status',
    )

  test.each([
    [{}, { allocation, reservedFor: [user('a')] }, []],
    [
      {},
      { reservedFor: [user('a')] },
      ['status.reservedFor: Forbidden: may not be specified when `allocated` is not set'],
    ],
    [
      { allocation },
      { allocation, reservedFor: [user('a'), user('a')] },
      ['status.reservedFor[1].uid: Duplicate value: "uid-a"'],
    ],
    [
      { allocation },
      { allocation: { devices: { results: [{ ...result, device: 'd2' }] } } },
      [contains('status.allocation: Invalid value')],
    ],
    [
      {},
      { allocation: { devices: { results: [{ ...result, request: 'x' }] } } },
      [
        'status.allocation.devices.results[0].request: Invalid value: "x": must be the name of a request in the claim',
      ],
    ],
    [
      {},
      { allocation: { devices: { config: [{ source: 'x', ...opaque({}) }] } } },
      [contains('status.allocation.devices.config[0].source: Unsupported value: "x"')],
    ],
    [
      { allocation },
      { allocation, reservedFor: Array.from({ length: 257 }, (_, i) => user(`p${i}`)) },
      [contains('status.reservedFor: Too many: 257: must have at most 256 items')],
    ],
  ])('from %j may become %j: %j', (before, now, expected) => {
    expect(faults(before, now)).toEqual(expected)
  })

  it('gets no new user while the claim is being deleted', () => {
    const metadata = { deletionTimestamp: '2025-01-01T00:00:00Z' }
    expect(faults({ allocation }, { allocation, reservedFor: [user('a')] }, metadata)).toEqual([
      contains('status.reservedFor: Forbidden: new entries may not be added'),
    ])
  })

  it.each([
    [
      { conditions: [{ type: 'Ready', status: 'Maybe' }] },
      'conditions[0].status: Unsupported value',
    ],
    [{ data: ['a'] }, 'data: Invalid value: "<value omitted>": parameters must be a valid JSON'],
    [{ networkData: { interfaceName: 'e'.repeat(257) } }, 'networkData.interfaceName: Too long'],
    [
      { networkData: { hardwareAddress: 'e'.repeat(129) } },
      'networkData.hardwareAddress: Too long',
    ],
    [
      { networkData: { ips: ['300.9.8.0/24'] } },
      'networkData.ips[0]: Invalid value: "300.9.8.0/24": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
    ],
    [
      { networkData: { ips: ['2001:0db8::1/64'] } },
      'networkData.ips[0]: Invalid value: "2001:0db8::1/64": must be in canonical form (2001:db8::1/64)',
    ],
    [
      { networkData: { ips: ['10.9.8.7/24', '10.9.8.7/24'] } },
      'networkData.ips[1]: Duplicate value: "10.9.8.7/24"',
    ],
    [
      { networkData: { ips: Array.from({ length: 17 }, (_, i) => `10.9.8.${i}/24`) } },
      'networkData.ips: Too many: 17',
    ],
  ])('has statuses of devices that are checked: %j', (wrong, fault) => {
    const gates = { ...defaultFeatureGates, DRAResourceClaimDeviceStatus: true }
    const runs = strategyRuns('resourceClaims', { gates })
    const old = { ...claims.created({ spec }), status: { allocation } }
    const good = { driver, pool: 'p', device: 'd1', networkData: { ips: ['10.9.8.7/24'] } }
    const faultsOf = (device: object) =>
      runs.updateFaults(old, { spec, status: { allocation, devices: [device] } }, 'status')
    expect(faultsOf(good)).toEqual([])
    expect(faultsOf({ ...good, ...wrong })).toContainEqual(contains(`status.devices[0].${fault}`))
  })

  it('changes no metadata, and keeps statuses of devices only with the gate', () => {
    const device = { driver, pool: 'p', device: 'd1' }
    const status = { allocation, devices: [device] }
    const object = { spec, status, metadata: { finalizers: ['a.io/b'], labels: { a: 'b' } } }
    const old = { ...claims.created({ spec }), status: { allocation } }
    const made = claims.updated(old, object, 'status')
    expect(made.metadata.finalizers).toBeUndefined()
    expect(made.metadata.labels).toBeUndefined()
    expect(made['status'].devices).toBeUndefined()
    const gates = { ...defaultFeatureGates, DRAResourceClaimDeviceStatus: true }
    const runs = strategyRuns('resourceClaims', { gates })
    expect(runs.updated(old, object, 'status')['status'].devices).toHaveLength(1)
    const other = { ...object, status: { allocation, devices: [{ ...device, device: 'd2' }] } }
    expect(runs.updateFaults(old, other, 'status')).toEqual([
      contains('must be an allocated device in the claim'),
    ])
    const held = { ...old, status }
    const freed = runs.updated(held, { spec, status: { devices: [device] } }, 'status')
    expect(freed['status'].devices).toBeUndefined()
  })
})

describe('a template of claims', () => {
  it('sets labels and annotations of its claims, and nothing else of their metadata', () => {
    const templates = strategyRuns('resourceClaimTemplates')
    const faults = (metadata: object) =>
      templates.createFaults({ spec: { metadata, ...claimWith({ requests: [request] }) } })
    expect(faults({ labels: { a: 'b' }, annotations: { 'example.com/a': 'b' } })).toEqual([])
    expect(faults({ labels: { a: 'not valid' } })).toEqual([
      contains('spec.metadata.labels: Invalid value: "not valid"'),
    ])
    expect(faults({ name: 'x' })).toEqual(['spec.metadata.name: Forbidden: cannot be set'])
  })
})

describe('a slice', () => {
  const slices = strategyRuns('resourceSlices')
  const pool = { name: 'p', generation: 1, resourceSliceCount: 1 }
  const sliceWith = (more: object) => ({ spec: { driver, pool, nodeName: 'n1', ...more } })
  const withAttributes = (attributes: object) =>
    sliceWith({ devices: [{ name: 'd', basic: { attributes } }] })

  test.each([
    [sliceWith({ devices: [{ name: 'd', basic: {} }] }), []],
    [
      sliceWith({
        devices: [
          { name: 'd', basic: {} },
          { name: 'd', basic: {} },
        ],
      }),
      ['spec.devices[1].name: Duplicate value: "d"'],
    ],
    [sliceWith({ devices: [{ name: 'd' }] }), ['spec.devices[0].basic: Required value']],
    [
      sliceWith({ pool: { ...pool, generation: -1 } }),
      ['spec.pool.generation: Invalid value: -1: must be greater than or equal to zero'],
    ],
    [
      withAttributes({ a: {} }),
      ['spec.devices[0].basic.attributes[a]: Required value: exactly one value must be specified'],
    ],
    [
      withAttributes({ a: { version: '1.0' } }),
      [
        'spec.devices[0].basic.attributes[a].version: Invalid value: "1.0": must be a string compatible with semver.org spec 2.0.0',
      ],
    ],
    [
      withAttributes({ 'a-b': { int: 1 } }),
      [contains('spec.devices[0].basic.attributes: Invalid value: "a-b": a valid C identifier')],
    ],
    [
      withAttributes(
        Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`a${i}`, { int: i }])),
      ),
      [contains('the total number of attributes and capacities must not exceed 32')],
    ],
  ])('is checked: %j', (object, expected) => {
    expect(slices.createFaults(object)).toEqual(expected)
  })

  it('keeps its driver, pool and node', () => {
    const old = slices.created(sliceWith({}))
    const moved = { spec: { driver: 'b.io', pool: { ...pool, name: 'q' }, nodeName: 'n2' } }
    expect(slices.updateFaults(old, moved)).toHaveLength(3)
  })
})

describe('claims in Pods', () => {
  const gates = { ...defaultFeatureGates, DynamicResourceAllocation: true }
  const pods = strategyRuns('pods', { gates })
  const container = (claims: object[]) => ({ name: 'c', image: 'i', resources: { claims } })
  const podWith = (resourceClaims: object[], claims: object[] = []) => ({
    spec: { containers: [container(claims)], resourceClaims },
  })

  test.each([
    [podWith([{ name: 'a', resourceClaimName: 'x' }], [{ name: 'a' }]), []],
    [
      podWith([{ name: 'a' }]),
      [contains('must specify one of: `resourceClaimName`, `resourceClaimTemplateName`')],
    ],
    [
      podWith([{ name: 'a', resourceClaimName: 'x', resourceClaimTemplateName: 'y' }]),
      [
        contains(
          'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified',
        ),
      ],
    ],
    [
      podWith([{ name: 'a', resourceClaimName: 'x' }], [{ name: 'b' }]),
      [
        'spec.containers[0].resources.claims[0]: Not found: "b": must be one of the names in pod.spec.resourceClaims: a',
      ],
    ],
    [
      podWith(
        [{ name: 'a', resourceClaimName: 'x' }],
        [{ name: 'a' }, { name: 'a', request: 'r' }],
      ),
      ['spec.containers[0].resources.claims[1]: Duplicate value: "a"'],
    ],
    [
      podWith([
        { name: 'a', resourceClaimName: 'x' },
        { name: 'a', resourceClaimName: 'y' },
      ]),
      ['spec.resourceClaims[1].name: Duplicate value: "a"'],
    ],
  ])('are checked: %j', (object, expected) => {
    expect(pods.createFaults(object)).toEqual(expected)
  })

  it('of any number are checked in no time, and in few words', () => {
    const names = (prefix: string) => Array.from({ length: 20_000 }, (_, i) => `${prefix}${i}`)
    const own = names('own').map((name) => ({ name, resourceClaimName: 'x' }))
    const others = names('other').map((name) => ({ name }))
    const before = process.cpuUsage()
    const faults = pods.createFaults(podWith(own, others))
    expect(faults).toHaveLength(20_000)
    expect(faults[0]).toContain('must be one of the names in pod.spec.resourceClaims: own0, own1,')
    expect(faults[0]?.length).toBeLessThan(2000)
    const statuses = { resourceClaimStatuses: own.map(({ name }) => ({ name })) }
    const object = podWith(own)
    expect(
      pods.updateFaults(pods.created(object), { ...object, status: statuses }, 'status'),
    ).toEqual([])
    expect(process.cpuUsage(before).user).toBeLessThan(4_000_000)
  })

  it('are dropped without the gate, from containers and the status, too', () => {
    const object = podWith([{ name: 'a', resourceClaimName: 'x' }], [{ name: 'a' }])
    const off = strategyRuns('pods')
    const { spec } = off.created(object)
    expect([spec.resourceClaims, spec.containers[0].resources.claims]).toEqual([
      undefined,
      undefined,
    ])
    const status = { resourceClaimStatuses: [{ name: 'a', resourceClaimName: 'x' }] }
    const statusIn = (runs: typeof off) =>
      runs.updated(runs.created(object), { ...object, status }, 'status')['status']
        .resourceClaimStatuses as unknown
    expect(statusIn(off)).toBeUndefined()
    expect(statusIn(pods)).toHaveLength(1)
  })

  it('have statuses that name entries of the spec, each once', () => {
    const object = podWith([{ name: 'a', resourceClaimTemplateName: 't' }])
    const one = { name: 'b', resourceClaimName: 'x' }
    const status = { resourceClaimStatuses: [one, one] }
    expect(pods.updateFaults(pods.created(object), { ...object, status }, 'status')).toEqual([
      contains('must match the name of an entry in `spec.resourceClaims`'),
      contains('must match the name of an entry in `spec.resourceClaims`'),
      'status.resourceClaimStatuses[1].name: Duplicate value: "b"',
    ])
  })
})
