/** Objects as large as bodies can be: no rule compares every item with every other. */
import { describe, expect, test } from 'vitest'
import { strategyRuns } from '../../support/strategy-runs.ts'

const pods = strategyRuns('pods')
const container = { name: 'c', image: 'i' }
const containerWith = (fields: object) => ({ spec: { containers: [{ ...container, ...fields }] } })
const podWith = (spec: object) => ({ spec: { containers: [container], ...spec } })

describe('a Pod as large as a body can be', () => {
  const many = <T>(make: (i: number) => T): T[] => Array.from({ length: 60_000 }, (_, i) => make(i))

  // Each of these takes longer than a test may when every item is compared with every other.
  test('is validated in time that is linear', () => {
    const volumeMounts = many((i) => ({ name: `v${i}`, mountPath: `/v${i}` }))
    const volumeDevices = many((i) => ({ name: `d${i}`, devicePath: `/d${i}` }))
    const mounts = [...volumeMounts, { name: 'd7', mountPath: '/d7' }]
    const volumes = [
      ...many((i) => ({ name: `v${i}`, emptyDir: {} })),
      ...many((i) => ({ name: `d${i}`, persistentVolumeClaim: { claimName: 'c' } })),
    ]
    const containers = [{ ...container, volumeMounts: mounts, volumeDevices }]
    const at = 'spec.containers[0]'
    expect(pods.createFaults({ spec: { containers, volumes } })).toEqual([
      `${at}.volumeMounts[60000].name: Invalid value: "d7": must not already exist in volumeDevices`,
      `${at}.volumeMounts[60000].mountPath: Invalid value: "/d7": must not already exist as a path in volumeDevices`,
      `${at}.volumeDevices[7].name: Invalid value: "d7": must not already exist in volumeMounts`,
      `${at}.volumeDevices[7].devicePath: Invalid value: "/d7": must not already exist as a path in volumeMounts`,
    ])
    const spread = { maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule', labelSelector: {} }
    const topologySpreadConstraints = [
      ...many((i) => ({ ...spread, topologyKey: `k${i}` })),
      { ...spread, topologyKey: 'k5' },
    ]
    expect(pods.createFaults(podWith({ topologySpreadConstraints }))).toEqual([
      'spec.topologySpreadConstraints[5].{topologyKey, whenUnsatisfiable}: Duplicate value: "{k5, DoNotSchedule}"',
    ])
  })

  test('is warned of no more than an answer has room for', () => {
    const ports = many(() => ({ containerPort: 80 }))
    const warnings = pods.warnings(containerWith({ ports }))
    expect(warnings).toHaveLength(1000)
    expect(warnings[0]).toBe(
      'spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]',
    )
    const mixed = [
      { containerPort: 80, hostPort: 1 },
      { containerPort: 80 },
      { containerPort: 80, hostPort: 1, hostIP: '10.0.0.1' },
    ]
    expect(pods.warnings(containerWith({ ports: mixed }))).toEqual([
      'spec.containers[0].ports[1]: overlapping port definition with spec.containers[0].ports[0]',
      'spec.containers[0].ports[2]: dangerously ambiguous port definition with spec.containers[0].ports[0]',
      'spec.containers[0].ports[2]: overlapping port definition with spec.containers[0].ports[1]',
    ])
    const spread = many((i) => ({ containerPort: 80, hostPort: i + 1 }))
    expect(pods.warnings(containerWith({ ports: spread }))).toEqual([])
  })
})

test('exit codes of a Job are compared in time that is linear', () => {
  const values = [...Array.from({ length: 400_000 }, (_, i) => i), 7]
  const rules = [{ action: 'Count', onExitCodes: { operator: 'NotIn', values } }]
  const jobTemplate = { spec: { containers: [container], restartPolicy: 'Never' } }
  const spec = { podFailurePolicy: { rules }, template: jobTemplate }
  const at = 'spec.podFailurePolicy.rules[0].onExitCodes.values'
  const faults = strategyRuns('jobs').createFaults({ metadata: { uid: 'u' }, spec })
  expect(faults.map((fault) => fault.slice(0, fault.indexOf(':')))).toEqual([
    at,
    `${at}[400000]`,
    at,
  ])
})
