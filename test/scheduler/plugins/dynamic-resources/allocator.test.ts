import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import type {
  AllocationResult,
  DeviceClass,
  ResourceClaim,
  ResourceSlice,
} from '../../../../components/api/generated/types.ts'
import { compileDeviceSelector } from '../../../../components/cel/device-selector.ts'
import type { AllocatorOptions } from '../../../../components/scheduler/plugins/dynamic-resources/allocator.ts'
import { createAllocator } from '../../../../components/scheduler/plugins/dynamic-resources/allocator.ts'
import { deviceId } from '../../../../components/scheduler/plugins/dynamic-resources/device-pools.ts'
import {
  asks,
  device,
  deviceClaim,
  deviceClass,
  driver,
  selecting,
  slice,
} from '../../../support/devices.ts'

interface World extends Partial<Omit<AllocatorOptions, 'claims' | 'slices' | 'classOf'>> {
  claims: readonly ResourceClaim[]
  slices: readonly ResourceSlice[]
  classes?: readonly DeviceClass[]
  node?: { name: string; labels: Record<string, string> }
}

function allocate(world: World) {
  const { classes = [deviceClass()], node = { name: 'n1', labels: {} }, ...rest } = world
  const allocator = createAllocator({
    allocated: new Set(),
    compile: compileDeviceSelector,
    allowsAdminAccess: false,
    classOf: (name) => classes.find(({ metadata }) => metadata.name === name),
    ...rest,
  })
  return allocator(node)
}

const idsOf = ({ devices }: AllocationResult): string[] =>
  (devices?.results ?? []).map((one) => `${one.request}=${one.pool}/${one.device}`)

/** What each claim got: `request=pool/device`; or why there is nothing. */
function given(world: World): string[][] | string {
  const allocation = allocate(world)
  return 'reason' in allocation ? allocation.reason : allocation.results.map(idsOf)
}

const none = 'cannot allocate all claims'
const model = (name: string, value: string) => device(name, { model: { string: value } })
const isModel = (value: string) => selecting(`device.attributes["${driver}"].model == "${value}"`)
const alike = (name = `${driver}/numa`, requests?: string[]) => ({
  matchAttribute: name,
  ...(requests && { requests }),
})
const numa = (name: string, value: number) => device(name, { numa: { int: value } })
const part = (
  name: string,
  devices: string[],
  pool: { generation?: number; resourceSliceCount?: number },
) =>
  slice(name, devices, {
    nodeName: 'n1',
    pool: { name: 'p', generation: 1, resourceSliceCount: 1, ...pool },
  })

const cases: [title: string, world: World, expected: string[][] | string][] = [
  [
    'one device for one request',
    { claims: [deviceClaim('a')], slices: [slice('p', ['d1', 'd2'])] },
    [['req=p/d1']],
  ],
  [
    'several devices for one request',
    { claims: [deviceClaim('a', [asks({ count: 2 })])], slices: [slice('p', ['d1', 'd2', 'd3'])] },
    [['req=p/d1', 'req=p/d2']],
  ],
  [
    'different devices for several claims',
    { claims: [deviceClaim('a'), deviceClaim('b')], slices: [slice('p', ['d1', 'd2'])] },
    [['req=p/d1'], ['req=p/d2']],
  ],
  [
    'nothing at all when one claim goes short',
    { claims: [deviceClaim('a'), deviceClaim('b')], slices: [slice('p', ['d1'])] },
    none,
  ],
  [
    'no device that another claim has',
    {
      claims: [deviceClaim('a')],
      slices: [slice('p', ['d1', 'd2'])],
      allocated: new Set([deviceId(driver, 'p', 'd1')]),
    },
    [['req=p/d2']],
  ],
  [
    'no device of another node',
    { claims: [deviceClaim('a')], slices: [slice('p', ['d1'], { nodeName: 'n2' })] },
    none,
  ],
  [
    'devices of a pool for all nodes',
    { claims: [deviceClaim('a')], slices: [slice('p', ['d1'], { allNodes: true })] },
    [['req=p/d1']],
  ],
  [
    'devices of a pool whose selector chooses the node',
    {
      claims: [deviceClaim('a')],
      slices: [
        slice('p', ['d1'], {
          nodeSelector: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: 'rack', operator: 'In', values: ['r1'] }] },
            ],
          },
        }),
      ],
      node: { name: 'n1', labels: { rack: 'r1' } },
    },
    [['req=p/d1']],
  ],
  [
    'what the request selects',
    {
      claims: [deviceClaim('a', [asks(isModel('h100'))])],
      slices: [slice('p', [model('d1', 'a100'), model('d2', 'h100')])],
    },
    [['req=p/d2']],
  ],
  [
    'what the class selects',
    {
      claims: [deviceClaim('a')],
      slices: [slice('p', [model('d1', 'a100'), model('d2', 'h100')])],
      classes: [deviceClass('gpu', `device.attributes["${driver}"].model == "h100"`)],
    },
    [['req=p/d2']],
  ],
  [
    'by capacity',
    {
      claims: [
        deviceClaim('a', [
          asks(selecting(`device.capacity["${driver}"].memory.compareTo(quantity("40Gi")) >= 0`)),
        ]),
      ],
      slices: [slice('p', [device('d1', {}, '16Gi'), device('d2', {}, '80Gi')])],
    },
    [['req=p/d2']],
  ],
  [
    'the other way round, when the first choice leaves nothing for the next request',
    {
      claims: [
        deviceClaim('a', [asks({ name: 'any' }), asks({ name: 'big', ...isModel('h100') })]),
      ],
      slices: [slice('p', [model('d1', 'h100'), model('d2', 'a100')])],
    },
    [['any=p/d2', 'big=p/d1']],
  ],
  [
    'devices with one attribute alike',
    {
      claims: [deviceClaim('a', [asks({ count: 2 })], [alike()])],
      slices: [slice('p', [numa('d1', 0), numa('d2', 1), numa('d3', 0)])],
    },
    [['req=p/d1', 'req=p/d3']],
  ],
  [
    'nothing when no two devices are alike',
    {
      claims: [deviceClaim('a', [asks({ count: 2 })], [alike()])],
      slices: [slice('p', [numa('d1', 0), numa('d2', 1)])],
    },
    none,
  ],
  [
    'no device without the attribute',
    { claims: [deviceClaim('a', [asks()], [alike()])], slices: [slice('p', ['d1'])] },
    none,
  ],
  [
    'devices that are alike only for the requests that the constraint names',
    {
      claims: [
        deviceClaim(
          'a',
          [asks({ name: 'x' }), asks({ name: 'y' }), asks({ name: 'z' })],
          [alike(`${driver}/numa`, ['x', 'z'])],
        ),
      ],
      slices: [slice('p', [numa('d1', 0), numa('d2', 1), numa('d3', 0)])],
    },
    [['x=p/d1', 'y=p/d2', 'z=p/d3']],
  ],
  [
    'all devices that match',
    {
      claims: [deviceClaim('a', [{ name: 'req', deviceClassName: 'gpu', allocationMode: 'All' }])],
      slices: [slice('p', ['d1', 'd2']), slice('q', ['d3'])],
    },
    [['req=p/d1', 'req=p/d2', 'req=q/d3']],
  ],
  [
    'nothing when one of all is taken',
    {
      claims: [deviceClaim('a', [{ name: 'req', deviceClassName: 'gpu', allocationMode: 'All' }])],
      slices: [slice('p', ['d1', 'd2'])],
      allocated: new Set([deviceId(driver, 'p', 'd2')]),
    },
    none,
  ],
  [
    'nothing when a request for all devices matches no device',
    {
      claims: [deviceClaim('a', [{ name: 'req', deviceClassName: 'gpu', allocationMode: 'All' }])],
      slices: [],
    },
    none,
  ],
  [
    'devices of all slices of a pool',
    {
      claims: [deviceClaim('a', [asks({ count: 2 })])],
      slices: [
        part('s1', ['d1'], { resourceSliceCount: 2 }),
        part('s2', ['d2'], { resourceSliceCount: 2 }),
      ],
    },
    [['req=p/d1', 'req=p/d2']],
  ],
  [
    'devices of the newest generation alone',
    {
      claims: [deviceClaim('a')],
      slices: [part('s1', ['old'], { generation: 1 }), part('s2', ['new'], { generation: 2 })],
    },
    [['req=p/new']],
  ],
  [
    'one device of a pool that is not whole yet',
    { claims: [deviceClaim('a')], slices: [part('s1', ['d1'], { resourceSliceCount: 2 })] },
    [['req=p/d1']],
  ],
  [
    'for administrators what others have',
    {
      claims: [deviceClaim('a', [asks({ adminAccess: true })])],
      slices: [slice('p', ['d1'])],
      allocated: new Set([deviceId(driver, 'p', 'd1')]),
      allowsAdminAccess: true,
    },
    [['req=p/d1']],
  ],
  [
    'for administrators no device twice in one claim',
    {
      claims: [deviceClaim('a', [asks({ adminAccess: true, count: 2 })])],
      slices: [slice('p', ['d1'])],
      allowsAdminAccess: true,
    },
    none,
  ],
  ['nothing for a claim without requests', { claims: [deviceClaim('a', [])], slices: [] }, [[]]],
]

describe('the allocator of devices', () => {
  test.each(cases)('gives %s', (_, world, expected) => {
    expect(given(world)).toEqual(expected)
  })

  test.each<[string, World, string]>([
    [
      'a class that is gone',
      { claims: [deviceClaim('a')], slices: [], classes: [] },
      'claim default/a, request req: could not retrieve device class gpu',
    ],
    [
      'too many devices',
      { claims: [deviceClaim('a', [asks({ count: 33 })])], slices: [] },
      'claim default/a: number of requested devices 33 exceeds the claim limit of 32',
    ],
    [
      'too many devices in several requests',
      {
        claims: [deviceClaim('a', [asks({ count: 20 }), asks({ name: 'b', count: 20 })])],
        slices: [],
      },
      'number of requested devices 40 exceeds the claim limit of 32',
    ],
    [
      'admin access behind its gate',
      { claims: [deviceClaim('a', [asks({ adminAccess: true })])], slices: [] },
      'claim default/a, request req: admin access is requested, but the feature is disabled',
    ],
    [
      'a selector that does not compile',
      { claims: [deviceClaim('a', [asks(selecting('device.x'))])], slices: [slice('p', ['d'])] },
      'claim default/a: selector #0: CEL compile error: compilation failed',
    ],
    [
      'a selector that fails for a device',
      { claims: [deviceClaim('a', [asks(isModel('x'))])], slices: [slice('p', ['d'])] },
      'claim default/a: selector #0: CEL runtime error: no such key: model',
    ],
    [
      'all devices of a pool that is not whole yet',
      {
        claims: [deviceClaim('a', [{ name: 'r', deviceClassName: 'gpu', allocationMode: 'All' }])],
        slices: [part('s1', ['d1'], { resourceSliceCount: 2 })],
      },
      `claim default/a, request r: asks for all devices, but resource pool ${driver}/p is currently being updated`,
    ],
    [
      'a pool with one name twice',
      { claims: [deviceClaim('a')], slices: [slice('p', ['d', 'd'])] },
      `pool ${driver}/p is invalid: duplicate device name d`,
    ],
    [
      'all devices, of which a constraint excludes one',
      {
        claims: [
          deviceClaim(
            'a',
            [{ name: 'r', deviceClassName: 'gpu', allocationMode: 'All' }],
            [alike()],
          ),
        ],
        slices: [slice('p', [numa('d1', 0), numa('d2', 1)])],
      },
      `cannot add device ${driver}/p/d2 because a claim constraint would not be satisfied`,
    ],
    [
      'a constraint of a later release',
      { claims: [deviceClaim('a', [asks()], [{}])], slices: [] },
      'claim default/a, constraint #0: empty constraint (unsupported constraint type?)',
    ],
  ])('stops at %s', (_, world, expected) => {
    expect(() => allocate(world)).toThrow(expected)
  })

  it('restricts a claim to the node of its devices, or to what their slices select', () => {
    const rack = [{ key: 'rack', operator: 'In', values: ['r1'] }]
    const shared = slice('q', ['d2'], {
      nodeSelector: { nodeSelectorTerms: [{ matchExpressions: rack }] },
    })
    const node = { name: 'n1', labels: { rack: 'r1' } }
    const selectorWith = (slices: ResourceSlice[], count: number) => {
      const allocation = allocate({ claims: [deviceClaim('a', [asks({ count })])], slices, node })
      return 'results' in allocation ? allocation.results[0]?.nodeSelector : allocation.reason
    }
    const own = [{ key: 'metadata.name', operator: 'In', values: ['n1'] }]
    expect(selectorWith([slice('p', ['d1']), shared], 2)).toEqual({
      nodeSelectorTerms: [{ matchFields: own }],
    })
    expect(selectorWith([shared], 1)).toEqual({ nodeSelectorTerms: [{ matchExpressions: rack }] })
    expect(selectorWith([slice('p', ['d1'], { allNodes: true })], 1)).toBeUndefined()
  })

  it('hands on the configuration of the class, then that of the claim', () => {
    const opaque = (mode: string) => ({ opaque: { driver, parameters: { mode } } })
    const gpu: DeviceClass = { ...deviceClass(), spec: { config: [opaque('class')] } }
    const claim = deviceClaim('a')
    claim.spec.devices = {
      ...claim.spec.devices,
      config: [{ requests: ['req'], ...opaque('own') }],
    }
    const allocation = allocate({ claims: [claim], slices: [slice('p', ['d'])], classes: [gpu] })
    expect('results' in allocation && allocation.results[0]?.devices?.config).toEqual([
      { source: 'FromClass', ...opaque('class') },
      { source: 'FromClaim', requests: ['req'], ...opaque('own') },
    ])
  })

  it('gives up a search that tries too many devices, and says so', () => {
    const pairs = Array.from({ length: 60 }, (_, i) => numa(`d${i}`, i >> 1))
    const world = {
      claims: [
        deviceClaim('a', [asks({ count: 16 })]),
        deviceClaim('b', [asks({ count: 3 })], [alike()]),
      ],
      slices: [slice('p', pairs)],
    }
    expect(given({ ...world, most: { perNode: 5000, inAll: 5000 } })).toBe(
      'gave up after trying 5000 devices',
    )
  })

  it('looks at each node’s devices, though pools of two nodes have one name', () => {
    const allocator = createAllocator({
      claims: [deviceClaim('a', [asks(isModel('h100'))])],
      slices: [
        slice('local', [model('d', 'a100')], { nodeName: 'n1' }),
        {
          ...slice('local', [model('d', 'h100')], { nodeName: 'n2' }),
          metadata: { name: 'local-2' },
        },
      ],
      allocated: new Set<string>(),
      compile: compileDeviceSelector,
      allowsAdminAccess: false,
      classOf: () => deviceClass(),
    })
    expect(allocator({ name: 'n1', labels: {} })).toEqual({ reason: none })
    expect(allocator({ name: 'n2', labels: {} })).toHaveProperty('results')
  })

  it('passes over the devices that a request does not select once', () => {
    const others = Array.from({ length: 10_000 }, (_, i) => model(`a${i}`, 'a100'))
    const many = Array.from({ length: 24 }, (_, i) => model(`h${i}`, 'h100'))
    const before = process.cpuUsage()
    const result = given({
      claims: [
        deviceClaim('a', [asks({ count: 5, ...isModel('h100') })]),
        deviceClaim('b', [asks(isModel('only'))]),
      ],
      slices: [slice('p', [...others, ...many, model('x', 'only')])],
      allocated: new Set([deviceId(driver, 'p', 'x')]),
      compile: (expression) => ({
        matches: ({ attributes }) => expression.includes(attributes['model']?.string ?? ''),
      }),
    })
    expect(result).toBe(none)
    expect(process.cpuUsage(before).user).toBeLessThan(1_500_000)
  })

  it('bounds the search on all nodes together', () => {
    const options = {
      claims: [deviceClaim('a', [asks({ count: 2 })])],
      slices: [slice('p', ['d1', 'd2'], { allNodes: true })],
      allocated: new Set<string>(),
      compile: compileDeviceSelector,
      allowsAdminAccess: false,
      classOf: () => deviceClass(),
      most: { perNode: 2, inAll: 3 },
    }
    const allocator = createAllocator(options)
    expect(allocator({ name: 'n1', labels: {} })).toHaveProperty('results')
    expect(allocator({ name: 'n2', labels: {} })).toEqual({
      reason: 'gave up after trying 1 devices',
    })
  })

  it('finds a solution exactly when there is one, and never gives a device twice', () => {
    const anyDevice = fc.record({ model: fc.constantFrom('a', 'b'), numa: fc.nat(1) })
    const anyRequest = fc.record({
      model: fc.constantFrom('a', 'b', undefined),
      count: fc.integer({ min: 1, max: 2 }),
    })
    const anyClaim = fc.record({
      requests: fc.array(anyRequest, { minLength: 1, maxLength: 2 }),
      isAlike: fc.boolean(),
    })
    const story = fc.record({
      devices: fc.array(anyDevice, { maxLength: 6 }),
      taken: fc.array(fc.nat(5), { maxLength: 2 }),
      claims: fc.array(anyClaim, { minLength: 1, maxLength: 2 }),
    })
    let solved = 0
    fc.assert(
      fc.property(story, ({ devices, taken, claims }) => {
        const allocated = new Set(taken.map((i) => deviceId(driver, 'p', `d${i}`)))
        const allocation = allocate({
          slices: [
            slice(
              'p',
              devices.map((one, i) =>
                device(`d${i}`, { model: { string: one.model }, numa: { int: one.numa } }),
              ),
            ),
          ],
          allocated,
          claims: claims.map(({ requests, isAlike }, i) =>
            deviceClaim(
              `c${i}`,
              requests.map((one, j) =>
                asks({
                  name: `r${j}`,
                  count: one.count,
                  ...(one.model === undefined ? {} : isModel(one.model)),
                }),
              ),
              isAlike ? [alike()] : [],
            ),
          ),
        })
        const free = devices.flatMap((one, i) => (taken.includes(i) ? [] : [{ ...one, i }]))
        expect('results' in allocation).toBe(hasSolution(free, claims))
        if (!('results' in allocation)) return
        solved += 1
        const got = allocation.results.flatMap(({ devices: of }) => of?.results ?? [])
        const ids = got.map((one) => deviceId(one.driver, one.pool, one.device))
        expect(new Set(ids).size).toBe(ids.length)
        expect(ids.filter((id) => allocated.has(id))).toEqual([])
        const wanted = claims.flatMap(({ requests }) => requests.map(({ count }) => count))
        expect(ids.length).toBe(wanted.reduce((sum, count) => sum + count, 0))
      }),
      { numRuns: 300 },
    )
    expect(solved).toBeGreaterThan(30)
  })
})

interface Wish {
  requests: { model: string | undefined; count: number }[]
  isAlike: boolean
}

/** Tries every assignment, without any order or short cut. */
function hasSolution(free: { model: string; numa: number }[], claims: Wish[]): boolean {
  const places = claims.flatMap(({ requests, isAlike }, claim) =>
    requests.flatMap(({ model: wanted, count }) =>
      Array.from({ length: count }, () => ({ claim, isAlike, wanted })),
    ),
  )
  const fill = (at: number, chosen: number[]): boolean => {
    const place = places[at]
    if (place === undefined) return true
    return free.some((one, i) => {
      if (chosen.includes(i) || (place.wanted !== undefined && place.wanted !== one.model))
        return false
      const clashes = chosen.some(
        (other, j) =>
          place.isAlike && places[j]?.claim === place.claim && free[other]?.numa !== one.numa,
      )
      return !clashes && fill(at + 1, [...chosen, i])
    })
  }
  return fill(0, [])
}
