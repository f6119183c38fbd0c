import { describe, expect, test } from 'vitest'
import { defaultFeatureGates } from '../../../components/api/feature-gates.ts'
import type { StatefulSet } from '../../../components/api/generated/types.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { strategyRuns } from '../../support/strategy-runs.ts'

const container = { name: 'c', image: 'i' }
const labels = { app: 'x' }
const template = { metadata: { labels }, spec: { containers: [container] } }
const selector = { matchLabels: labels }

const deployments = strategyRuns('deployments')
const replicaSets = strategyRuns('replicaSets')
const statefulSets = strategyRuns('statefulSets')
const daemonSets = strategyRuns('daemonSets')
const controllers = strategyRuns('replicationControllers')

describe('apps/v1', () => {
  const kinds = [
    ['Deployment', deployments],
    ['ReplicaSet', replicaSets],
    ['StatefulSet', statefulSets],
    ['DaemonSet', daemonSets],
  ] as const

  test.each(kinds)('[VER-108] a %s needs a selector, which never changes', (_, runs) => {
    expect(runs.createFaults({ spec: { template } }).join('\n')).toContain(
      _ === 'DaemonSet'
        ? 'spec.template.metadata.labels: Invalid value: map[string]string{"app":"x"}: `selector` does not match template `labels`'
        : 'spec.selector: Required value',
    )
    const old = runs.created({ spec: { selector, template } })
    const other = { app: 'y' }
    const changed = {
      selector: { matchLabels: other },
      template: { ...template, metadata: { labels: other } },
    }
    const faults = runs.updateFaults(old, { spec: { ...(old['spec'] as object), ...changed } })
    expect(faults).toEqual([
      _ === 'StatefulSet'
        ? "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
        : 'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"app":"y"}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: field is immutable',
    ])
  })

  test.each(kinds)('a %s with the least passes', (_, runs) => {
    expect(runs.createFaults({ spec: { selector, template } })).toEqual([])
  })

  test.each(kinds)('a %s runs Pods that always restart', (_, runs) => {
    const once = { ...template, spec: { ...template.spec, restartPolicy: 'Never' } }
    expect(runs.createFaults({ spec: { selector, template: once } })).toEqual([
      'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
    ])
  })

  test.each([
    ['DaemonSet', daemonSets],
    ['StatefulSet', statefulSets],
  ] as const)('[VER-109] a %s is updated by rolling', (_, runs) => {
    expect(runs.created({ spec: { selector, template } })['spec']).toMatchObject({
      updateStrategy: { type: 'RollingUpdate' },
    })
  })

  test('[VER-110] defaults of a Deployment', () => {
    expect(deployments.created({ spec: { selector, template } })['spec']).toMatchObject({
      replicas: 1,
      progressDeadlineSeconds: 600,
      revisionHistoryLimit: 10,
      strategy: {
        type: 'RollingUpdate',
        rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' },
      },
      template: { spec: { restartPolicy: 'Always', terminationGracePeriodSeconds: 30 } },
    })
  })
})

describe('a Deployment is refused', () => {
  const with_ = (spec: object) => ({ spec: { selector, template, ...spec } })
  test.each<[string, object, string[]]>([
    [
      'with a negative number of replicas',
      with_({ replicas: -1 }),
      ['spec.replicas: Invalid value: -1: must be greater than or equal to 0'],
    ],
    [
      'without labels on its template',
      with_({ template: { spec: template.spec } }),
      [
        'spec.template.metadata.labels: Invalid value: map[string]string(nil): `selector` does not match template `labels`',
      ],
    ],
    [
      'with no room to roll',
      with_({ strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } } }),
      [
        'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: intstr.IntOrString{Type:0, IntVal:0, StrVal:""}: may not be 0 when `maxSurge` is 0',
      ],
    ],
    [
      'with a share that is no number',
      with_({ strategy: { rollingUpdate: { maxUnavailable: 'ä' } } }),
      [
        `spec.strategy.rollingUpdate.maxUnavailable: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"ä"}: a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')`,
      ],
    ],
    [
      'with more than all unavailable',
      with_({ strategy: { rollingUpdate: { maxUnavailable: '101%' } } }),
      [
        expect.stringMatching(
          /^spec.strategy.rollingUpdate.maxUnavailable: .*must not be greater than 100%$/,
        ) as unknown as string,
      ],
    ],
    [
      'recreated by rolling',
      with_({ strategy: { type: 'Recreate', rollingUpdate: {} } }),
      [
        "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
      ],
    ],
    [
      'with a deadline before it can be ready',
      with_({ minReadySeconds: 700 }),
      ['spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds'],
    ],
    [
      'with an operator there is not',
      with_({ selector: { matchExpressions: [{ key: 'app', operator: 'Near' }] } }),
      [
        'spec.selector.matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator',
        expect.stringMatching(
          /^spec.selector: Invalid value: .*invalid label selector$/,
        ) as unknown as string,
      ],
    ],
    [
      'with a Pod that is none',
      with_({ template: { metadata: { labels }, spec: { containers: [] } } }),
      ['spec.template.spec.containers: Required value'],
    ],
  ])('%s', (_, deployment, faults) => {
    expect(deployments.createFaults(deployment)).toEqual(faults)
  })
})

test('annotations of a Deployment count as a generation: its ReplicaSets have them too', () => {
  const old = deployments.created({ spec: { selector, template } })
  const annotate = (annotations: object, more = {}) => ({
    ...old,
    metadata: { ...old.metadata, annotations, ...more },
  })
  expect(deployments.updated(old, old).metadata.generation).toBe(1)
  expect(deployments.updated(old, annotate({})).metadata.generation).toBe(1)
  expect(deployments.updated(old, annotate({ a: 'b' })).metadata.generation).toBe(2)
  const status = deployments.updated(old, annotate({ a: 'b' }, { labels: { c: 'd' } }), 'status')
  expect(status.metadata).toMatchObject({ generation: 1, annotations: { a: 'b' } })
  expect(status.metadata).not.toHaveProperty('labels')
})

test('a StatefulSet keeps maxUnavailable only where its gate is on, or where it is set already', () => {
  const rollingUpdate = { partition: 0, maxUnavailable: 2 }
  const wanted = { spec: { selector, template, updateStrategy: { rollingUpdate } } }
  const on = strategyRuns('statefulSets', {
    gates: { ...defaultFeatureGates, MaxUnavailableStatefulSet: true },
  })
  const kept = (object: KubeObject): unknown =>
    (object as StatefulSet).spec?.updateStrategy?.rollingUpdate
  expect(kept(statefulSets.created(wanted))).toEqual({ partition: 0 })
  const old = on.created(wanted)
  expect(kept(old)).toEqual(rollingUpdate)
  expect(kept(statefulSets.updated(old, wanted))).toEqual(rollingUpdate)
})

test('a DaemonSet counts changes of its template in an annotation that nobody else sets', () => {
  const key = 'deprecated.daemonset.template.generation'
  const spec = { selector, template }
  const countOf = ({ metadata }: { metadata: { annotations?: Record<string, string> } }) =>
    metadata.annotations?.[key]
  const set = (value: string) => ({ metadata: { annotations: { [key]: value, a: 'b' } }, spec })
  const old = daemonSets.created({ spec })
  expect(countOf(old)).toBe('1')
  expect(countOf(daemonSets.created(set('7')))).toBe('7')
  expect(countOf(daemonSets.created(set('x')))).toBe('1')
  for (const subresource of ['', 'status']) {
    expect(countOf(daemonSets.updated(old, set('7'), subresource))).toBe('1')
    expect(countOf(daemonSets.updated(old, { spec }, subresource))).toBe('1')
  }
  const changed = { ...template, spec: { containers: [{ ...container, image: 'j' }] } }
  expect(countOf(daemonSets.updated(old, { spec: { selector, template: changed } }))).toBe('2')
})

test('the status of a new object is the server’s', () => {
  const spec = { selector, template }
  expect(deployments.created({ spec, status: { replicas: 5 } })['status']).toEqual({})
  expect(replicaSets.created({ spec, status: { replicas: 5 } })['status']).toEqual({ replicas: 0 })
})

test('a status may not count below nothing, nor its parts above the whole', () => {
  const old = deployments.created({ spec: { selector, template } })
  const faults = (status: object) =>
    deployments.updateFaults(old, { spec: old['spec'], status }, 'status')
  expect(faults({ replicas: 2, readyReplicas: 2 })).toEqual([])
  expect(faults({ replicas: -1 })).toContain(
    'status.replicas: Invalid value: -1: must be greater than or equal to 0',
  )
  expect(faults({ replicas: 1, readyReplicas: 2 })).toEqual([
    'status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas',
  ])
})

describe('a StatefulSet', () => {
  test('is named by a label, has its own defaults', () => {
    const created = statefulSets.created({ spec: { selector, template } })
    expect(created['spec']).toMatchObject({
      replicas: 1,
      podManagementPolicy: 'OrderedReady',
      revisionHistoryLimit: 10,
      updateStrategy: { rollingUpdate: { partition: 0 } },
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
    })
    const dotted = { metadata: { name: 'a.b' }, spec: { selector, template } }
    expect(statefulSets.createFaults(dotted)).toEqual([
      'metadata.name: Invalid value: "a.b": must not contain dots',
    ])
  })

  test('may change replicas and template, not its service', () => {
    const old = statefulSets.created({ spec: { selector, template, serviceName: 's' } })
    const spec = old['spec'] as object
    const other = { ...template, spec: { containers: [{ ...container, image: 'j' }] } }
    expect(
      statefulSets.updateFaults(old, { spec: { ...spec, replicas: 3, template: other } }),
    ).toEqual([])
    expect(statefulSets.updateFaults(old, { spec: { ...spec, serviceName: 't' } })).toHaveLength(1)
  })
})

test('a DaemonSet rolls by surge or by unavailability, not both', () => {
  const with_ = (rollingUpdate: object) => ({
    spec: { selector, template, updateStrategy: { rollingUpdate } },
  })
  expect(daemonSets.createFaults(with_({ maxUnavailable: 0, maxSurge: 1 }))).toEqual([])
  expect(daemonSets.createFaults(with_({ maxUnavailable: 1, maxSurge: 1 }))).toEqual([
    'spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: intstr.IntOrString{Type:0, IntVal:1, StrVal:""}: may not be set when maxUnavailable is non-zero',
  ])
  expect(daemonSets.createFaults(with_({ maxUnavailable: 0 }))).toEqual([
    'spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0',
  ])
})

test('a ReplicationController takes its selector and labels from its template', () => {
  expect(controllers.created({ spec: { template } })).toMatchObject({
    metadata: { labels },
    spec: { replicas: 1, selector: labels },
  })
  expect(controllers.createFaults({ spec: { template } })).toEqual([])
})

test('a ControllerRevision keeps its data', () => {
  const revisions = strategyRuns('controllerRevisions')
  const old = revisions.created({ data: { a: 1 }, revision: 1 })
  expect(revisions.updateFaults(old, { data: { a: 1 }, revision: 2 })).toEqual([])
  expect(revisions.updateFaults(old, { data: { a: 2 }, revision: 1 }).join()).toContain(
    'field is immutable',
  )
  for (const data of ['a', [1], 1]) {
    expect(revisions.createFaults({ data, revision: 1 })).toEqual([
      'data: Required value: data must be a valid JSON object',
    ])
  }
})

describe('a Job', () => {
  const jobs = strategyRuns('jobs')
  const jobTemplate = { spec: { containers: [container], restartPolicy: 'Never' } }
  const job = { metadata: { uid: 'u-1' }, spec: { template: jobTemplate } }

  test('has defaults, and a selector of its own', () => {
    const created = jobs.created(job)
    const own = {
      'batch.kubernetes.io/controller-uid': 'u-1',
      'controller-uid': 'u-1',
      'batch.kubernetes.io/job-name': 'x',
      'job-name': 'x',
    }
    expect(created).toMatchObject({
      spec: {
        backoffLimit: 6,
        completions: 1,
        parallelism: 1,
        completionMode: 'NonIndexed',
        suspend: false,
        podReplacementPolicy: 'TerminatingOrFailed',
        manualSelector: false,
        selector: { matchLabels: { 'batch.kubernetes.io/controller-uid': 'u-1' } },
        template: { metadata: { labels: own } },
      },
    })
    expect(jobs.createFaults(job)).toEqual([])
  })

  test.each<[string, object, string[]]>([
    [
      'whose Pods always restart',
      { template: { spec: { containers: [container] } } },
      ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
    ],
    [
      'with a negative parallelism',
      { template: jobTemplate, parallelism: -1 },
      ['spec.parallelism: Invalid value: -1: must be greater than or equal to 0'],
    ],
    [
      'indexed without an end',
      { template: jobTemplate, completionMode: 'Indexed', parallelism: 1 },
      ['spec.completions: Required value: when completion mode is Indexed'],
    ],
  ])('%s is refused', (_, spec, faults) => {
    expect(jobs.createFaults({ metadata: { uid: 'u-1' }, spec })).toEqual(faults)
  })

  test('may be paused, not given another template', () => {
    const old = jobs.created(job)
    const spec = old['spec'] as object
    expect(jobs.updateFaults(old, { spec: { ...spec, suspend: true } })).toEqual([])
    const other = {
      ...(spec as { template: object }).template,
      spec: { ...jobTemplate.spec, priority: 1 },
    }
    expect(jobs.updateFaults(old, { spec: { ...spec, template: other } }).join()).toMatch(
      /^spec.template: Invalid value: .*field is immutable/s,
    )
    expect(jobs.updateFaults(old, { spec: { ...spec, completions: 5 } }).join()).toContain(
      'spec.completions: Invalid value: 5: field is immutable',
    )
  })
})

describe('a CronJob', () => {
  const cronJobs = strategyRuns('cronJobs')
  const jobTemplate = {
    spec: { template: { spec: { containers: [container], restartPolicy: 'Never' } } },
  }
  const faultsOf = (spec: object) =>
    cronJobs.createFaults({ spec: { jobTemplate, schedule: '* * * * *', ...spec } })

  test('has defaults', () => {
    expect(cronJobs.created({ spec: { jobTemplate, schedule: '@daily' } })['spec']).toMatchObject({
      concurrencyPolicy: 'Allow',
      suspend: false,
      successfulJobsHistoryLimit: 3,
      failedJobsHistoryLimit: 1,
    })
  })

  test('leaves the defaults of its Jobs to them, but for those of their pods', () => {
    const rules = [{ action: 'Ignore', onPodConditions: [{ type: 'A' }] }]
    const spec = { ...jobTemplate.spec, podFailurePolicy: { rules } }
    const at = 'spec.jobTemplate.spec.podFailurePolicy.rules[0].onPodConditions[0].status'
    expect(faultsOf({ jobTemplate: { spec } })).toEqual([
      `${at}: Required value: valid values: ["False" "True" "Unknown"]`,
    ])
    const { spec: made } = cronJobs.created({ spec: { jobTemplate, schedule: '@daily' } }) as {
      spec?: { jobTemplate: { spec: object } }
    }
    expect(Object.keys(made?.jobTemplate.spec ?? {})).toEqual(['template'])
  })

  test.each(['* * * * *', '*/5 0-6 1,15 jan-mar mon', '@hourly', '@every 5m'])(
    'is scheduled by %j',
    (schedule) => {
      expect(faultsOf({ schedule })).toEqual([])
    },
  )

  test.each([
    ['', 'spec.schedule: Required value'],
    ['* * * *', 'spec.schedule: Invalid value: "* * * *": '],
    ['61 * * * *', 'spec.schedule: Invalid value: "61 * * * *": '],
    ['0 0 * * 7', 'spec.schedule: Invalid value: "0 0 * * 7": '],
  ])('is not scheduled by %j', (schedule, fault) => {
    expect(faultsOf({ schedule })[0]?.startsWith(fault)).toBe(true)
  })

  test('takes time zones that there are', () => {
    expect(faultsOf({ timeZone: 'Europe/Berlin' })).toEqual([])
    expect(faultsOf({ timeZone: 'Mars/Base' })).toEqual([
      'spec.timeZone: Invalid value: "Mars/Base": unknown time zone Mars/Base',
    ])
  })

  test.each(['UTC', 'Etc/GMT+1', 'US/Pacific', 'Asia/Calcutta', 'America/Argentina/Buenos_Aires'])(
    'takes the time zone %s',
    (timeZone) => {
      expect(faultsOf({ timeZone })).toEqual([])
    },
  )

  test.each(['utc', 'america/new_york', 'AMERICA/NEW_YORK', 'us/pacific', '+0100', '+01'])(
    'takes no time zone in another spelling: %s',
    (timeZone) => {
      const fault = `spec.timeZone: Invalid value: "${timeZone}": unknown time zone ${timeZone}`
      expect(faultsOf({ timeZone })).toEqual([fault])
    },
  )

  test('has a name that leaves room for the time', () => {
    const name = 'a'.repeat(53)
    const spec = { jobTemplate, schedule: '@daily' }
    expect(cronJobs.createFaults({ metadata: { name }, spec })).toEqual([
      `metadata.name: Invalid value: "${name}": must be no more than 52 characters`,
    ])
  })
})

describe('the status of a Job', () => {
  const jobs = strategyRuns('jobs')
  const jobTemplate = { spec: { containers: [container], restartPolicy: 'Never' } }
  const faults = (spec: object, before: object, status: object) => {
    const metadata = { uid: 'u' }
    const old = jobs.created({ metadata, spec: { ...spec, template: jobTemplate } })
    const startTime = '2026-01-02T03:04:05Z'
    old['status'] = { startTime, ...before }
    return jobs.updateFaults(old, { ...old, status: { startTime, ...status } }, 'status')
  }

  test('may count fewer that succeeded only where completions may become fewer', () => {
    const before = { succeeded: 5, completedIndexes: '0-4' }
    const status = { succeeded: 3, completedIndexes: '0-2' }
    const indexed = { completionMode: 'Indexed', completions: 3 }
    expect(faults({ ...indexed, parallelism: 3 }, before, status)).toEqual([])
    expect(faults({ ...indexed, parallelism: 2 }, before, status)).toEqual([
      'status.succeeded: Invalid value: 3: cannot decrease the succeeded counter',
    ])
    expect(faults({ ...indexed, parallelism: 3 }, { failed: 2 }, { failed: 1 })).toEqual([
      'status.failed: Invalid value: 1: cannot decrease the failed counter',
    ])
  })

  test('may be complete without a start where there is nothing to start', () => {
    const conditions = ['SuccessCriteriaMet', 'Complete'].map((type) => ({ type, status: 'True' }))
    const status = { startTime: null, completionTime: '2026-01-02T03:04:05Z', conditions }
    const before = { startTime: undefined }
    expect(faults({ completions: 0, suspend: true }, before, status)).toEqual([])
    expect(faults({ completions: 0 }, before, status)).toEqual([
      'status.startTime: Required value: startTime is required for finished job',
    ])
  })
})
