/** Every kubectl rolls StatefulSets and DaemonSets out, back and on again, on real processes. */
import { basename } from 'node:path'
import { beforeAll, describe, expect } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { kubectlFor, oneKubectlPerRelease, requireKubectl, tableOf } from './kubectl.ts'
import type { Kubectl } from './kubectl.ts'
import type { PlacedCluster } from './place.ts'
import { sharedCluster } from './shared-cluster.ts'

const { test } = requireKubectl()
const kubectls = await oneKubectlPerRelease()

function manifest(kind: 'StatefulSet' | 'DaemonSet', name: string): string {
  const labels = { app: name }
  const ofKind = kind === 'StatefulSet' ? { replicas: 2, serviceName: name } : {}
  const spec = {
    ...ofKind,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: {
        terminationGracePeriodSeconds: 0,
        // kubectl compares the template with its revision byte by byte: Go escapes these signs.
        containers: [
          { name: 'main', image: 'nginx:1', env: [{ name: 'IF', value: 'a<b && c>d' }] },
        ],
      },
    },
  }
  return JSON.stringify({ apiVersion: 'apps/v1', kind, metadata: { name }, spec })
}

/** The images of the object's pods, each once. */
async function images(kubectl: Kubectl, app: string): Promise<string[]> {
  const template = '{.items[*].spec.containers[0].image}'
  const text = await kubectl.ok`get pods -l app=${app} -o jsonpath=${template}`
  return [...new Set(text.split(' '))].toSorted()
}

/** Rolls `target` out, back and on again; `done` is what `rollout status` says at the end. */
async function rollOver(kubectl: Kubectl, target: string, done: RegExp): Promise<void> {
  const app = target.slice(target.indexOf('/') + 1)
  const status = async (): Promise<void> => {
    expect(await kubectl.ok`rollout status ${target} --timeout=90s`).toMatch(done)
  }
  await status()
  await kubectl.ok`set image ${target} main=nginx:2`
  await status()
  expect(await images(kubectl, app)).toEqual(['nginx:2'])
  expect(await kubectl.ok`rollout history ${target}`).toMatch(/^1 .*\n2 /m)
  expect(await kubectl.ok`rollout history ${target} --revision=1`).toMatch(/^ +Image:\s+nginx:1$/m)

  expect(await kubectl.ok`rollout undo ${target}`).toContain('rolled back')
  await status()
  expect(await images(kubectl, app)).toEqual(['nginx:1'])
  expect(await kubectl.ok`rollout history ${target}`).toMatch(/^2 .*\n3 /m)
  expect(await kubectl.ok`rollout undo ${target} --to-revision=3`).toContain(
    'skipped rollback (current template already matches revision 3)',
  )

  const before = await kubectl.ok`get pods -l app=${app} -o name --sort-by=.metadata.uid`
  expect(await kubectl.ok`rollout restart ${target}`).toContain('restarted')
  await status()
  expect(await images(kubectl, app)).toEqual(['nginx:1'])
  expect(before).not.toBe('')
  const restarted = '{.items[*].metadata.annotations.kubectl\\.kubernetes\\.io/restartedAt}'
  const times = await kubectl.ok`get pods -l app=${app} -o jsonpath=${restarted}`
  expect(times.split(' ')).toHaveLength(before.split('\n').length)
}

describe.runIf(kubectls.length > 0)('each kubectl', () => {
  let cluster: PlacedCluster

  beforeAll(async () => {
    cluster = await sharedCluster()
  })

  test.concurrent.each(kubectls.map((path) => [basename(path), path]))(
    '%s rolls a StatefulSet over, whose pods keep their names',
    async (name, path) => {
      const namespace = `stateful-${name.replaceAll('.', '-')}`
      const kubectl = await kubectlFor(cluster, { path, namespace })
      const made = await kubectl.withInput(manifest('StatefulSet', 'db')).try`create -f -`
      expect(made).toMatchObject({ code: 0, stdout: 'statefulset.apps/db created\n', stderr: '' })
      await rollOver(kubectl, 'statefulset/db', /roll out complete: 2 new pods have been updated/)
      expect(tableOf(await kubectl.ok`get statefulsets`)).toMatchObject([
        { NAME: 'db', READY: '2/2' },
      ])
      await kubectl.ok`scale statefulset db --replicas=3`
      await kubectl.ok`rollout status statefulset/db --timeout=90s`
      expect((await kubectl.ok`get pods -o name`).split('\n')).toEqual(
        ['db-0', 'db-1', 'db-2'].map((pod) => `pod/${pod}`),
      )
      expect(
        await kubectl.ok`get pod db-2 -o jsonpath=${'{.spec.hostname} {.spec.subdomain}'}`,
      ).toBe('db-2 db')
      expect(await kubectl.ok`describe statefulset db`).toContain(
        'create Pod db-2 in StatefulSet db successful',
      )
      await kubectl.ok`delete statefulset db --cascade=foreground --timeout=60s`
      expect(await kubectl.ok`get pods,controllerrevisions -o name`).toBe('')
    },
  )

  test.concurrent.each(kubectls.map((path) => [basename(path), path]))(
    '%s rolls a DaemonSet over, which has a pod on every node',
    async (name, path) => {
      const namespace = `daemon-${name.replaceAll('.', '-')}`
      const kubectl = await kubectlFor(cluster, { path, namespace })
      const made = await kubectl.withInput(manifest('DaemonSet', 'log')).try`create -f -`
      expect(made).toMatchObject({ code: 0, stdout: 'daemonset.apps/log created\n', stderr: '' })
      await rollOver(kubectl, 'daemonset/log', /daemon set "log" successfully rolled out/)
      const where = await kubectl.ok`get pods -o jsonpath=${'{.items[*].spec.nodeName}'}`
      const nodes = await kubectl.ok`get nodes -o jsonpath=${'{.items[*].metadata.name}'}`
      expect(where.split(' ').toSorted()).toEqual(nodes.split(' ').toSorted())
      const count = String(nodes.split(' ').length)
      expect(tableOf(await kubectl.ok`get daemonsets`)).toMatchObject([
        { NAME: 'log', DESIRED: count, CURRENT: count, READY: count, AVAILABLE: count },
      ])
      await eventually(async () => {
        expect(await kubectl.ok`describe daemonset log`).toMatch(
          /SuccessfulCreate .*Created pod: log-/,
        )
      })
      await kubectl.ok`delete daemonset log --cascade=foreground --timeout=60s`
      expect(await kubectl.ok`get pods,controllerrevisions -o name`).toBe('')
    },
  )
})
