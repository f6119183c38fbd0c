/** Every kubectl sees what controllers did: runs of schedules, autoscalers, usage, claims, quotas, and StatefulSets that keep claims. */
import { basename } from 'node:path'
import { beforeAll, describe, expect } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { kubectlFor, oneKubectlPerRelease, requireKubectl, tableOf } from './kubectl.ts'
import type { Kubectl } from './kubectl.ts'
import type { PlacedCluster } from './place.ts'
import { sharedCluster } from './shared-cluster.ts'

const { test } = requireKubectl()
const kubectls = await oneKubectlPerRelease()

const template = (app: string) => ({
  metadata: { labels: { app } },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [
      { name: 'main', image: 'example.com/app:1', resources: { requests: { cpu: '100m' } } },
    ],
  },
})
const selector = (app: string) => ({ matchLabels: { app } })
const statefulSet = {
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name: 'db' },
  spec: {
    replicas: 2,
    serviceName: 'db',
    podManagementPolicy: 'Parallel',
    selector: selector('db'),
    template: template('db'),
    persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete', whenScaled: 'Delete' },
    volumeClaimTemplates: [
      {
        metadata: { name: 'data' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      },
    ],
  },
}
const workloads = [
  statefulSet,
  {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: 'log' },
    spec: { selector: selector('log'), template: template('log') },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web' },
    spec: { replicas: 1, selector: selector('web'), template: template('web') },
  },
]

/** Makes the workloads below a quota, a Job from a schedule, and an autoscaler; each has done its work at the end. */
async function setUp(kubectl: Kubectl): Promise<void> {
  await kubectl.ok`create quota all --hard=pods=20,persistentvolumeclaims=2,count/jobs.batch=1`
  await kubectl.ok`wait --for=jsonpath=${'{.status.hard.pods}'}=20 quota/all --timeout=60s`
  const list = { apiVersion: 'v1', kind: 'List', items: workloads }
  await kubectl.withInput(JSON.stringify(list)).ok`create -f -`
  expect(await kubectl.ok`autoscale deployment web --min=2 --max=4 --cpu-percent=50`).toBe(
    'horizontalpodautoscaler.autoscaling/web autoscaled',
  )
  await kubectl.ok`create cronjob yearly --image=busybox --schedule=${'0 0 1 1 *'} -- echo ran`
  expect(await kubectl.ok`create job by-hand --from=cronjob/yearly`).toBe(
    'job.batch/by-hand created',
  )
  const refused = await kubectl.fails`create job once-more --from=cronjob/yearly`
  expect(refused.stderr).toContain(
    'exceeded quota: all, requested: count/jobs.batch=1, used: count/jobs.batch=1, limited: count/jobs.batch=1',
  )
  expect(await kubectl.ok`wait --for=condition=complete job/by-hand --timeout=60s`).toBe(
    'job.batch/by-hand condition met',
  )
  await kubectl.ok`rollout status statefulset/db --timeout=90s`
  await kubectl.ok`rollout status daemonset/log --timeout=90s`
  await kubectl.ok`wait --for=jsonpath=${'{.status.readyReplicas}'}=2 deployment/web --timeout=90s`
}

/** What `describe` says of each kind. */
async function describesAll(kubectl: Kubectl): Promise<void> {
  await eventually(async () => {
    const text =
      await kubectl.ok`describe statefulset/db daemonset/log job/by-hand cronjob/yearly hpa/web pvc/data-db-0 quota/all`
    expect(text).toMatch(/^Pods Status: +2 Running \/ 0 Waiting \/ 0 Succeeded \/ 0 Failed$/m)
    expect(text).toContain('create Claim data-db-1 Pod db-1 in StatefulSet db success')
    expect(text).toMatch(/^Desired Number of Nodes Scheduled: 3$/m)
    expect(text).toMatch(/^Number of Nodes Scheduled with Available Pods: 3$/m)
    expect(text).toMatch(/^Pods Statuses: +0 Active .*1 Succeeded \/ 0 Failed$/m)
    expect(text).toMatch(/^Schedule: +0 0 1 1 \*$/m)
    expect(text).toMatch(
      /SuccessfulRescale .*New size: 2; reason: Current number of replicas below Spec\.MinReplicas/,
    )
    expect(text).toMatch(/^Status: +Bound$/m)
    expect(text).toMatch(/^Used By: +db-0$/m)
    expect(text).toMatch(/^count\/jobs\.batch +1 +1$/m)
    expect(text).toMatch(/^persistentvolumeclaims +2 +2$/m)
    expect(text).toMatch(/^pods +7 +20$/m)
  })
}

/** `get` of claims, volumes and classes in one. */
async function showsVolumes(kubectl: Kubectl, namespace: string): Promise<void> {
  const text = await kubectl.ok`get pvc,pv,sc`
  for (const claim of ['data-db-0', 'data-db-1']) {
    expect(text).toMatch(
      new RegExp(`^persistentvolumeclaim/${claim} +Bound +pvc-\\S+ +1Gi +RWO +standard `, 'm'),
    )
    expect(text).toMatch(
      new RegExp(
        `^persistentvolume/pvc-\\S+ +1Gi +RWO +Delete +Bound +${namespace}/${claim} +standard `,
        'm',
      ),
    )
  }
  expect(text).toMatch(/^storageclass\.storage\.k8s\.io\/standard \(default\) /m)
}

async function showsUsage(kubectl: Kubectl): Promise<void> {
  await eventually(async () => {
    const pods = tableOf(await kubectl.ok`top pod -l app=log`)
    expect(pods).toHaveLength(3)
    for (const pod of pods) expect(pod['CPU(cores)']).toMatch(/^[1-9]\d*m$/)
  })
  expect(tableOf(await kubectl.ok`top node`)).toHaveLength(3)
}

/** A claim goes with its replica, stays with orphans, and is taken up by the next set of that name. */
async function keepsClaims(kubectl: Kubectl): Promise<void> {
  await kubectl.ok`scale statefulset db --replicas=1`
  await kubectl.ok`wait --for=delete pod/db-1 pvc/data-db-1 --timeout=60s`
  const identity = async () =>
    await kubectl.ok`get pod/db-0 pvc/data-db-0 -o jsonpath=${'{.items[*].metadata.uid}'}`
  const before = await identity()
  await kubectl.ok`delete statefulset db --cascade=orphan --timeout=60s`
  const owners = '{.metadata.ownerReferences}'
  expect(await kubectl.ok`get pod db-0 -o jsonpath=${owners}`).toBe('')
  expect(await kubectl.ok`get pvc data-db-0 -o jsonpath=${owners}`).toBe('')
  const again = { ...statefulSet, spec: { ...statefulSet.spec, replicas: 1 } }
  await kubectl.withInput(JSON.stringify(again)).ok`create -f -`
  await kubectl.ok`rollout status statefulset/db --timeout=60s`
  expect(await identity()).toBe(before)
  await eventually(async () => {
    for (const name of ['pod/db-0', 'pvc/data-db-0'])
      expect(await kubectl.ok`get ${name} -o jsonpath=${owners}`).toContain('"name":"db"')
  })
  await kubectl.ok`delete statefulset db`
  await kubectl.ok`wait --for=delete pod/db-0 pvc/data-db-0 --timeout=60s`
}

describe.runIf(kubectls.length > 0)('each kubectl', () => {
  let cluster: PlacedCluster

  beforeAll(async () => {
    cluster = await sharedCluster()
  })

  test.concurrent.each(kubectls.map((path) => [basename(path), path]))(
    '%s shows what controllers did, and what a quota refused',
    async (name, path) => {
      const namespace = `controllers-${name.replaceAll('.', '-')}`
      const kubectl = await kubectlFor(cluster, { path, namespace })
      await setUp(kubectl)
      await describesAll(kubectl)
      await showsVolumes(kubectl, namespace)
      await keepsClaims(kubectl)
      await showsUsage(kubectl)
      await kubectl.ok`delete namespace ${namespace} --wait=false`
    },
  )
})
