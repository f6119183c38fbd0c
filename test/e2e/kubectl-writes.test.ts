/** kubectl's less usual ways of writing and reading: forced, dry, strict, raw, in pages, below an object. */
import { beforeAll, describe, expect } from 'vitest'
import { kubectlFor, requireKubectl } from './kubectl.ts'
import type { Kubectl } from './kubectl.ts'
import { sharedCluster } from './shared-cluster.ts'

const { path, test } = requireKubectl()

const configMap = (name: string, data: Record<string, string>, more: object = {}): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...more }, data })

describe('writes', () => {
  let kubectl: Kubectl
  const namespace = 'writes'

  beforeAll(async () => {
    kubectl = await kubectlFor(await sharedCluster(), { path, namespace })
    await kubectl.ok`create deployment web --image=nginx:1.26 --replicas=2`
    await kubectl.ok`rollout status deployment/web --timeout=60s`
  })

  const field = async (name: string, template: string) =>
    await kubectl.ok`get ${name} -o jsonpath=${template}`

  test('replace --force deletes the object and makes it anew', async () => {
    await kubectl.withInput(configMap('forced', { a: '1' })).ok`create -f -`
    const before = await field('cm/forced', '{.metadata.uid}')
    expect(await kubectl.withInput(configMap('forced', { b: '2' })).ok`replace --force -f -`).toBe(
      'configmap "forced" deleted\nconfigmap/forced replaced',
    )
    expect(await field('cm/forced', '{.data}')).toBe('{"b":"2"}')
    expect(await field('cm/forced', '{.metadata.uid}')).not.toBe(before)
    // It makes what is not there, too.
    await kubectl.withInput(configMap('forced-new', {})).ok`replace --force -f -`
    expect(await field('cm/forced-new', '{.metadata.name}')).toBe('forced-new')
  })

  test('get --chunk-size=2 asks for pages of two and shows every object once', async () => {
    const names = ['page-1', 'page-2', 'page-3', 'page-4', 'page-5']
    for (const name of names) await kubectl.ok`create configmap ${name}`
    const { stdout, stderr, code } = await kubectl.try`get configmaps --chunk-size=2 -o name -v=6`
    expect(code).toBe(0)
    const shown = stdout.trim().split('\n')
    expect(shown).toEqual(expect.arrayContaining(names.map((name) => `configmap/${name}`)))
    expect(new Set(shown).size).toBe(shown.length)
    const pages = stderr.match(/configmaps\?[^ "]*limit=2[^ "]*/g) ?? []
    expect(pages).toHaveLength(Math.ceil(shown.length / 2))
    expect(pages.slice(1).every((page) => page.includes('continue='))).toBe(true)
  })

  test('--dry-run=server shows what each verb would do, and does nothing', async () => {
    const state = async (): Promise<unknown> => {
      const { items } = await kubectl.json`get deploy,svc,cm,hpa,quota,sa,pods -o json`
      return items.map(({ kind, metadata, spec, data }: Record<string, { uid?: string }>) => {
        return [kind, metadata?.uid, spec, data]
      })
    }
    await kubectl.withInput(configMap('kept', { a: '1' })).ok`apply -f -`
    const [node = ''] = (await kubectl.ok`get nodes -o name`).split('\n')
    const nodeBefore = await field(node, '{.spec}{.metadata.labels}')
    const before = await state()
    const dry = '(server dry run)'
    const said = (line: string): RegExp => new RegExp(`${line}.*\\(server dry run\\)$`, 's')

    const input = (data: Record<string, string>) => kubectl.withInput(configMap('kept', data))
    const changed = { a: '2' }
    expect(await kubectl.withInput(configMap('new', {})).ok`create -f - --dry-run=server`).toBe(
      `configmap/new created ${dry}`,
    )
    expect(await kubectl.ok`create quota new --hard=pods=1 --dry-run=server`).toMatch(
      said('created'),
    )
    expect(await input(changed).ok`apply -f - --dry-run=server`).toBe(
      `configmap/kept configured ${dry}`,
    )
    expect(await input(changed).ok`apply -f - --dry-run=server -o jsonpath={.data.a}`).toBe('2')
    expect(await input(changed).ok`replace -f - --dry-run=server`).toBe(
      `configmap/kept replaced ${dry}`,
    )
    const patch = JSON.stringify({ data: changed })
    // kubectl does not say of a patch that it was a dry run.
    expect(await kubectl.ok`patch cm kept -p ${patch} --dry-run=server -o jsonpath={.data.a}`).toBe(
      '2',
    )
    expect(await kubectl.ok`label cm kept x=y --dry-run=server`).toBe(
      `configmap/kept labeled ${dry}`,
    )
    expect(await kubectl.ok`annotate cm kept x=y --dry-run=server`).toBe(
      `configmap/kept annotated ${dry}`,
    )
    expect(await kubectl.ok`scale deploy web --replicas=5 --dry-run=server`).toBe(
      `deployment.apps/web scaled ${dry}`,
    )
    expect(await kubectl.ok`autoscale deploy web --max=5 --dry-run=server`).toMatch(
      said('autoscaled'),
    )
    expect(await kubectl.ok`expose deploy web --port=80 --dry-run=server`).toMatch(said('exposed'))
    expect(await kubectl.ok`run new --image=i --dry-run=server`).toBe(`pod/new created ${dry}`)
    expect(await kubectl.ok`set image deploy web nginx=nginx:1.27 --dry-run=server`).toMatch(
      said('image updated'),
    )
    expect(await kubectl.ok`set env deploy web A=b --dry-run=server`).toMatch(said('env updated'))
    expect(await kubectl.ok`set resources deploy web --limits=cpu=1 --dry-run=server`).toMatch(
      said('resource requirements updated'),
    )
    expect(await kubectl.ok`set serviceaccount deploy web other --dry-run=server`).toMatch(
      said('serviceaccount updated'),
    )
    expect(await kubectl.ok`delete cm kept --dry-run=server`).toBe(
      `configmap "kept" deleted ${dry}`,
    )
    expect(await kubectl.ok`delete cm --all --dry-run=server`).toContain(dry)
    expect(await kubectl.ok`cordon ${node} --dry-run=server`).toContain(dry)
    // Nor of a taint.
    const name = node.slice('node/'.length)
    expect(await kubectl.ok`taint node ${name} a=b:NoSchedule --dry-run=server`).toMatch(/ tainted/)
    const drained =
      await kubectl.ok`drain ${node} --ignore-daemonsets --force --dry-run=server --timeout=60s`
    expect(drained).toContain(dry)

    expect(await state()).toEqual(before)
    expect(await field(node, '{.spec}{.metadata.labels}')).toBe(nodeBefore)
  })

  test('--validate=strict refuses an unknown field, warn tells of it, ignore says nothing', async () => {
    const wrong = (name: string) =>
      kubectl.withInput(
        JSON.stringify({
          apiVersion: 'apps/v1',
          kind: 'Deployment',
          metadata: { name },
          spec: {
            replica: 1,
            selector: { matchLabels: { a: 'b' } },
            template: {
              metadata: { labels: { a: 'b' } },
              spec: { containers: [{ name: 'c', image: 'i', imag: 'x' }] },
            },
          },
        }),
      )
    const fields = [
      'unknown field "spec.replica"',
      'unknown field "spec.template.spec.containers[0].imag"',
    ]
    for (const verb of ['create', 'apply']) {
      const name = `checked-${verb}`
      const refused = await wrong(name).fails`${verb} -f - --validate=strict`
      expect(refused.code).toBe(1)
      for (const text of fields) expect(refused.stderr).toContain(text)
      expect(refused.stderr).toContain('BadRequest')
      expect((await kubectl.fails`get deploy ${name}`).code).toBe(1)

      const warned = await wrong(name).try`${verb} -f - --validate=warn`
      expect(warned).toMatchObject({ code: 0, stdout: `deployment.apps/${name} created\n` })
      for (const text of fields) expect(warned.stderr).toContain(`Warning: ${text}`)
      await kubectl.ok`delete deploy ${name}`

      const ignored = await wrong(name).try`${verb} -f - --validate=ignore`
      expect(ignored).toMatchObject({ code: 0, stderr: '' })
      await kubectl.ok`delete deploy ${name}`
    }
    const strict = await wrong('web').fails`replace -f - --validate=strict`
    expect(strict.stderr).toContain(fields[0])
  })

  test('get --raw, create --raw, replace --raw and delete --raw speak to the server as they are', async () => {
    const health = await kubectl.ok`get --raw ${'/livez?verbose&exclude=etcd'}`
    const lines = health.split('\n')
    expect(lines).toContain('[+]etcd excluded: ok')
    expect(lines).toContain('[+]ping ok')
    expect(lines.at(-1)).toBe('healthz check passed')

    const collection = `/api/v1/namespaces/${namespace}/configmaps`
    const made = await kubectl.withInput(configMap('raw', { a: '1' }))
      .json`create --raw ${collection} -f -`
    expect(made).toMatchObject({ kind: 'ConfigMap', metadata: { name: 'raw', namespace } })
    expect(await kubectl.json`get --raw ${`${collection}/raw`}`).toEqual(made)
    const body = configMap('raw', { a: '2' })
    const put = await kubectl.withInput(body).json`replace --raw ${`${collection}/raw`} -f -`
    expect(put.data).toEqual({ a: '2' })
    const gone = await kubectl.json`delete --raw ${`${collection}/raw`}`
    expect(gone).toMatchObject({ kind: 'Status', status: 'Success' })
    const missing = await kubectl.fails`get --raw ${`${collection}/raw`}`
    expect(missing.stderr).toContain('Error from server (NotFound): configmaps "raw" not found')
  })

  test('replace --subresource=status changes the status alone', async () => {
    await kubectl.ok`create quota counted --hard=pods=5`
    const quota = await kubectl.json`get quota counted -o json`
    const status = { hard: { pods: '5' }, used: { pods: '4' } }
    const sent = { ...quota, status, spec: { hard: { pods: '9' } } }
    delete sent.metadata.resourceVersion
    expect(
      await kubectl.withInput(JSON.stringify(sent)).ok`replace --subresource=status -f -`,
    ).toBe('resourcequota/counted replaced')
    const now = await kubectl.json`get quota counted --subresource=status -o json`
    expect(now).toMatchObject({ spec: { hard: { pods: '5' } }, status })
    const scale = await kubectl.json`get deploy web --subresource=scale -o json`
    expect(scale).toMatchObject({ kind: 'Scale', spec: { replicas: 2 } })
  })

  test('diff ends with 0 for what is the same, with 1 for what would change or be made', async () => {
    const one = configMap('compared', { a: '1' })
    await kubectl.withInput(one).ok`apply -f -`
    expect(await kubectl.withInput(one).try`diff -f -`).toMatchObject({ code: 0, stdout: '' })
    const other = await kubectl.withInput(configMap('compared', { a: '2' })).fails`diff -f -`
    expect(other.code).toBe(1)
    expect(other.stdout).toContain('-  a: "1"\n+  a: "2"')
    const made = await kubectl.withInput(configMap('not-there', { a: '1' })).fails`diff -f -`
    expect(made.code).toBe(1)
    expect(made.stdout).toContain('+  name: not-there')
    expect((await kubectl.fails`get cm not-there`).code).toBe(1)
    expect(await field('cm/compared', '{.data.a}')).toBe('1')
  })
})
