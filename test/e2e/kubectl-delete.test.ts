/** kubectl delete with each cascade, wait, and get -w. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { beforeAll, describe, expect } from 'vitest'
import { kubectlFor, requireKubectl, tableOf } from './kubectl.ts'
import type { Kubectl } from './kubectl.ts'
import { sharedCluster } from './shared-cluster.ts'

const { path, test } = requireKubectl()

describe('deleting, waiting and watching', () => {
  let kubectl: Kubectl

  beforeAll(async () => {
    kubectl = await kubectlFor(await sharedCluster(), { path, namespace: 'deleting' })
  })

  async function deployed(name: string): Promise<void> {
    await kubectl.ok`create deployment ${name} --image=example.com/app:1 --replicas=2`
    await kubectl.ok`rollout status deployment/${name} --timeout=60s`
  }

  const left = async (name: string): Promise<string> =>
    await kubectl.ok`get deployments,replicasets,pods -l app=${name} -o name`

  test('delete --cascade=background takes the dependents after the owner', async () => {
    await deployed('behind')
    expect(await kubectl.ok`delete deployment behind --cascade=background`).toBe(
      'deployment.apps "behind" deleted',
    )
    await kubectl.ok`wait --for=delete replicaset,pod -l app=behind --timeout=60s`
    expect(await left('behind')).toBe('')
  })

  test('delete --cascade=foreground takes the dependents before the owner', async () => {
    await deployed('before')
    expect(await kubectl.ok`delete deployment before --cascade=foreground --timeout=60s`).toBe(
      'deployment.apps "before" deleted',
    )
    expect(await left('before')).toBe('')
  })

  test('delete --cascade=orphan leaves the dependents without an owner', async () => {
    await deployed('orphaning')
    expect(await kubectl.ok`delete deployment orphaning --cascade=orphan --timeout=60s`).toBe(
      'deployment.apps "orphaning" deleted',
    )
    const sets = await kubectl.json`get replicasets -l app=orphaning -o json`
    expect(sets.items).toHaveLength(1)
    expect(sets.items[0].metadata.ownerReferences).toBeUndefined()
    expect(tableOf(await kubectl.ok`get pods -l app=orphaning`)).toHaveLength(2)
    await kubectl.ok`delete replicaset -l app=orphaning`
    await kubectl.ok`wait --for=delete pod -l app=orphaning --timeout=60s`
  })

  test('delete by selector, --all, --now, --force, --dry-run and --ignore-not-found', async () => {
    for (const name of ['a', 'b', 'c']) {
      await kubectl.ok`create configmap ${name}`
      if (name !== 'c') await kubectl.ok`label configmap ${name} old=yes`
    }
    expect(await kubectl.ok`delete cm -l old --dry-run=server`).toBe(
      'configmap "a" deleted (server dry run)\nconfigmap "b" deleted (server dry run)',
    )
    expect(await kubectl.ok`delete cm -l old`).toBe('configmap "a" deleted\nconfigmap "b" deleted')
    expect(await kubectl.ok`delete cm a --ignore-not-found`).toBe('')
    expect((await kubectl.fails`delete cm a`).stderr).toBe(
      'Error from server (NotFound): configmaps "a" not found\n',
    )
    await kubectl.inNamespace('deleting-all').try`create namespace deleting-all`
    await kubectl.inNamespace('deleting-all').ok`create configmap d`
    expect(await kubectl.inNamespace('deleting-all').ok`delete cm --all`).toContain(
      'configmap "d" deleted',
    )
    expect(await kubectl.ok`delete cm --field-selector=metadata.name=c`).toBe(
      'configmap "c" deleted',
    )
    await kubectl.ok`run now --image=example.com/app:1`
    await kubectl.ok`run forced --image=example.com/app:1`
    await kubectl.ok`wait --for=condition=Ready pod/now pod/forced --timeout=60s`
    expect(await kubectl.ok`delete pod now --now --timeout=60s`).toBe('pod "now" deleted')
    expect(await kubectl.ok`delete pod forced --force --grace-period=0`).toBe(
      'pod "forced" force deleted',
    )
    expect((await kubectl.fails`get pod forced`).code).toBe(1)
  })

  test('an object with a finalizer stays until that is removed', async () => {
    await kubectl.ok`create configmap held`
    const finalizers = { metadata: { finalizers: ['example.com/hold'] } }
    await kubectl.ok`patch cm held --type=merge -p ${JSON.stringify(finalizers)}`
    const deleting = kubectl.ok`delete cm held --timeout=60s`
    const deletion = '{.metadata.deletionTimestamp}'
    await expect
      .poll(() => kubectl.ok`get cm held -o jsonpath=${deletion}`)
      .toMatch(/^\d{4}-\d\d-\d\dT/)
    await kubectl.ok`patch cm held --type=json -p ${'[{"op":"remove","path":"/metadata/finalizers"}]'}`
    expect(await deleting).toBe('configmap "held" deleted')
    expect((await kubectl.fails`get cm held`).stderr).toContain('not found')
  })

  test('delete namespace removes all that is in it', async () => {
    await kubectl.ok`create namespace doomed`
    const inside = kubectl.inNamespace('doomed')
    await inside.ok`create deployment app --image=example.com/app:1 --replicas=2`
    await inside.ok`create configmap conf`
    await inside.ok`rollout status deployment/app --timeout=60s`
    expect(await kubectl.ok`delete namespace doomed --timeout=60s`).toBe(
      'namespace "doomed" deleted',
    )
    expect(await inside.ok`get all,cm,sa -o name`).toBe('')
    expect((await inside.fails`create configmap late`).stderr).toContain(
      'namespaces "doomed" not found',
    )
  })

  test('wait: for conditions, for a value, for creation, and in vain', async () => {
    const creation = kubectl.try`wait --for=create pod/later --timeout=60s`
    await kubectl.ok`run later --image=example.com/app:1`
    expect(await kubectl.ok`wait --for=condition=Ready=true pod/later --timeout=60s`).toBe(
      'pod/later condition met',
    )
    expect(
      await kubectl.ok`wait --for=jsonpath=${'{.status.phase}'}=Running pod/later --timeout=60s`,
    ).toBe('pod/later condition met')
    const { code, stderr } = await creation
    // Only kubectl 1.31 and later know --for=create.
    if (!stderr.includes('unrecognized condition')) expect(code).toBe(0)
    const late = await kubectl.fails`wait --for=condition=Ready=false pod/later --timeout=1s`
    expect(late.stderr).toContain('timed out waiting for the condition on pods/later')
    expect(
      (await kubectl.fails`wait --for=condition=Ready pod/nobody --timeout=1s`).stderr,
    ).toContain('pods "nobody" not found')
  })

  test('get -w prints each state as it comes, and -o name and --output-watch-events too', async () => {
    await kubectl.ok`create configmap watched`
    await using lines = watch(kubectl, ['get', 'pods', '-w', '--output-watch-events'])
    await lines.until(/ADDED +later /)
    await kubectl.ok`run seen --image=example.com/app:1 --labels=app=seen`
    await lines.until(/MODIFIED +seen +1\/1 +Running/)
    await kubectl.ok`delete pod seen --now`
    await lines.until(/DELETED +seen /)
    const seen = lines.all.filter((line) => / seen /.test(line))
    expect(seen[0]).toMatch(/^ADDED +seen +0\/1 +Pending +0 +\d+s$/)
    expect(seen.join('\n')).toMatch(/Terminating/)
    expect(lines.all[0]).toMatch(/^EVENT +NAME +READY +STATUS +RESTARTS +AGE$/)

    await using one = watch(kubectl, [
      'get',
      'configmap',
      'watched',
      '-w',
      '-o',
      'jsonpath={.data.a}{"\\n"}',
    ])
    await one.until(/^$/)
    await kubectl.ok`patch cm watched --type=merge -p ${'{"data":{"a":"1"}}'}`
    await one.until(/^1$/)
    await kubectl.ok`patch cm watched --type=merge -p ${'{"data":{"a":"2"}}'}`
    await one.until(/^2$/)
  })
})

interface Watched extends AsyncDisposable {
  readonly all: readonly string[]
  /** Resolves when a line matches; rejects after 10 s, or when the command ends before. */
  until(pattern: RegExp): Promise<void>
}

/** A command that goes on printing until it is disposed of. */
function watch(kubectl: Kubectl, words: readonly string[]): Watched {
  const child = spawn(kubectl.path, words, { env: kubectl.env, stdio: ['ignore', 'pipe', 'pipe'] })
  const all: string[] = []
  let said = ''
  let wake = () => {}
  child.stderr.on('data', (data: Buffer) => (said += data.toString()))
  createInterface({ input: child.stdout }).on('line', (line) => {
    all.push(line)
    wake()
  })
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => {
      wake()
      resolve()
    })
  })
  return {
    all,
    async until(pattern) {
      const end = performance.now() + 90_000
      while (!all.some((line) => pattern.test(line))) {
        if (child.exitCode !== null || performance.now() > end) {
          throw new Error(`no line like ${String(pattern)} in:\n${all.join('\n')}\n${said}`)
        }
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, 500)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
    },
  }
}
