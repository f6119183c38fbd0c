/** kubectl on workloads: made, changed in every way, rolled out and back, exposed, described. */
import { beforeAll, describe, expect } from 'vitest'
import { unattendedKinds } from '../../components/api/unattended-kinds.ts'
import { eventually } from '../support/eventually.ts'
import { kubectlFor, requireKubectl, tableOf } from './kubectl.ts'
import type { Kubectl } from './kubectl.ts'
import { sharedCluster } from './shared-cluster.ts'

const { path, test } = requireKubectl()

function manifest(image: string, data: Record<string, string>): string {
  const labels = { app: 'applied' }
  const objects = [
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'applied' }, data },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'applied', labels },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            containers: [{ name: 'main', image, env: [{ name: 'COLOR', value: 'blue' }] }],
          },
        },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'applied' },
      spec: { selector: labels, ports: [{ port: 80 }] },
    },
  ]
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects })
}

describe('workloads', () => {
  let kubectl: Kubectl

  beforeAll(async () => {
    kubectl = await kubectlFor(await sharedCluster(), { path, namespace: 'workloads' })
    await kubectl.ok`create deployment web --image=nginx:1.26 --replicas=2`
    await kubectl.ok`rollout status deployment/web --timeout=60s`
  })

  const field = async (name: string, template: string) =>
    await kubectl.ok`get ${name} -o jsonpath=${template}`

  test('create warns of a kind that nothing acts on, and describe says why nothing happens', async () => {
    const why = unattendedKinds.get('networking/ingresses')
    const made = await kubectl.try`create ingress idle --rule=${'example.com/=web:80'}`
    expect(made).toMatchObject({ code: 0, stdout: 'ingress.networking.k8s.io/idle created\n' })
    expect(made.stderr).toBe(`Warning: ${why}\n`)
    await eventually(async () => {
      expect(await kubectl.ok`describe ingress idle`).toMatch(
        new RegExp(`Warning +NoController +.+ +kube-apiserver +${why}`),
      )
    })
  })

  test('create makes an object of each kind that it has a generator for', async () => {
    const made = [
      await kubectl.ok`create configmap made --from-literal=a=1 --from-literal=b=2`,
      await kubectl.ok`create secret generic made --from-literal=word=x`,
      await kubectl.ok`create secret docker-registry registry --docker-username=u --docker-password=p`,
      await kubectl.ok`create serviceaccount made`,
      await kubectl.ok`create job made --image=busybox -- true`,
      await kubectl.ok`create cronjob made --image=busybox --schedule=${'0 4 * * *'} -- true`,
      await kubectl.ok`create role made --verb=get --resource=pods`,
      await kubectl.ok`create rolebinding made --role=made --serviceaccount=workloads:made`,
      await kubectl.ok`create quota made --hard=count/widgets.example.com=1`,
      await kubectl.ok`create poddisruptionbudget made --selector=app=none --min-available=1`,
      await kubectl.ok`create ingress made --rule=${'example.com/*=web:80'}`,
      await kubectl.ok`create service clusterip made --tcp=80:8080`,
      await kubectl.ok`create service nodeport made-port --tcp=80:8080`,
      await kubectl.ok`create service externalname made-name --external-name=example.com`,
    ]
    expect(made).toEqual([
      'configmap/made created',
      'secret/made created',
      'secret/registry created',
      'serviceaccount/made created',
      'job.batch/made created',
      'cronjob.batch/made created',
      'role.rbac.authorization.k8s.io/made created',
      'rolebinding.rbac.authorization.k8s.io/made created',
      'resourcequota/made created',
      'poddisruptionbudget.policy/made created',
      'ingress.networking.k8s.io/made created',
      'service/made created',
      'service/made-port created',
      'service/made-name created',
    ])
    expect(await field('cm/made', '{.data}')).toBe('{"a":"1","b":"2"}')
    expect(await field('secret/made', '{.data.word} {.type}')).toBe('eA== Opaque')
    expect(await field('cronjob/made', '{.spec.schedule} {.spec.concurrencyPolicy}')).toBe(
      '0 4 * * * Allow',
    )
    expect(await field('service/made-port', '{.spec.ports[0].nodePort}')).toMatch(/^3[0-2]\d{3}$/)
    expect(await field('job/made', '{.spec.template.spec.containers[0].command}')).toBe('["true"]')
    expect((await kubectl.fails`create configmap made`).stderr).toBe(
      'error: failed to create configmap: configmaps "made" already exists\n',
    )
    expect((await kubectl.fails`create configmap UPPER`).stderr).toContain(
      'ConfigMap "UPPER" is invalid: metadata.name: Invalid value: "UPPER"',
    )
    expect(await kubectl.ok`create configmap dry --dry-run=server -o name`).toBe('configmap/dry')
    expect((await kubectl.fails`get configmap dry`).stderr).toContain('not found')
  })

  test('create of an object with unknown or doubled fields is refused, and the fields are named', async () => {
    const wrong = JSON.stringify({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'wrong' },
      spec: { containers: [{ name: 'c', image: 'x', imagePullPolice: 'Never' }] },
    })
    expect((await kubectl.withInput(wrong).fails`create -f -`).stderr).toContain(
      'strict decoding error: unknown field "spec.containers[0].imagePullPolice"',
    )
    const warned = await kubectl.withInput(wrong).try`create -f - --validate=warn`
    expect(warned).toMatchObject({
      code: 0,
      stderr: 'Warning: unknown field "spec.containers[0].imagePullPolice"\n',
    })
    const ignored = wrong.replace('"wrong"', '"ignored"')
    expect(await kubectl.withInput(ignored).try`create -f - --validate=false`).toMatchObject({
      code: 0,
      stderr: '',
    })
  })

  test('run starts a pod', async () => {
    expect(
      await kubectl.ok`run runner --image=busybox:1.36 --env=A=1 --port=80 --labels=kind=run --restart=Never -- sleep 1d`,
    ).toBe('pod/runner created')
    await kubectl.ok`wait --for=condition=Ready pod/runner --timeout=60s`
    expect(await field('pod/runner', '{.metadata.labels} {.spec.restartPolicy}')).toBe(
      '{"kind":"run"} Never',
    )
    expect(await field('pod/runner', '{.spec.containers[0].args}')).toBe('["sleep","1d"]')
    expect(await field('pod/runner', '{.status.podIP}')).toMatch(/^\d+\.\d+\.\d+\.\d+$/)
  })

  test('apply creates, leaves alone, changes and prunes fields', async () => {
    const first = manifest('busybox:1.35', { a: '1', b: '2' })
    const names = ['configmap/applied', 'deployment.apps/applied', 'service/applied']
    const apply = async (text: string) => (await kubectl.withInput(text).ok`apply -f -`).split('\n')
    expect(await apply(first)).toEqual(names.map((name) => `${name} created`))
    expect(await apply(first)).toEqual(names.map((name) => `${name} unchanged`))
    await kubectl.ok`scale deployment/applied --replicas=2`
    await kubectl.ok`set env deployment/applied SHAPE=round`
    const second = manifest('busybox:1.36', { a: '1' })
    const diff = await kubectl.withInput(second).fails`diff -f -`
    expect(diff.code).toBe(1)
    expect(diff.stdout).toContain('-        image: busybox:1.35\n+        image: busybox:1.36')
    expect(diff.stdout).toContain('-  b: "2"')
    expect(await apply(second)).toEqual([
      'configmap/applied configured',
      'deployment.apps/applied configured',
      'service/applied unchanged',
    ])
    expect(await field('cm/applied', '{.data}')).toBe('{"a":"1"}')
    const [container] = JSON.parse(
      await field('deploy/applied', '{.spec.template.spec.containers}'),
    ) as { image: string; env: unknown[] }[]
    expect(container?.image).toBe('busybox:1.36')
    expect(container?.env).toEqual([
      { name: 'COLOR', value: 'blue' },
      { name: 'SHAPE', value: 'round' },
    ])
    expect(await kubectl.ok`apply view-last-applied cm/applied`).toContain('a: "1"')
    await kubectl.ok`rollout status deployment/applied --timeout=60s`
    expect(await kubectl.withInput(second).ok`delete -f -`).toBe(
      'configmap "applied" deleted\ndeployment.apps "applied" deleted\nservice "applied" deleted',
    )
  })

  test('replace puts a whole object in place of the one there is', async () => {
    await kubectl.ok`create configmap replaced --from-literal=a=1`
    const object = await kubectl.json`get cm replaced -o json`
    object.data = { b: '2' }
    expect(await kubectl.withInput(JSON.stringify(object)).ok`replace -f -`).toBe(
      'configmap/replaced replaced',
    )
    expect(await field('cm/replaced', '{.data}')).toBe('{"b":"2"}')
    expect((await kubectl.withInput(JSON.stringify(object)).fails`replace -f -`).stderr).toContain(
      'Operation cannot be fulfilled on configmaps "replaced": the object has been modified; please apply your changes to the latest version and try again',
    )
  })

  test('patch: strategic, merge and JSON', async () => {
    await kubectl.ok`create deployment patched --image=a:1 --replicas=0`
    const container = { name: 'side', image: 'b:1' }
    const strategic = { spec: { template: { spec: { containers: [container] } } } }
    expect(await kubectl.ok`patch deploy patched -p ${JSON.stringify(strategic)}`).toBe(
      'deployment.apps/patched patched',
    )
    expect(await field('deploy/patched', '{.spec.template.spec.containers[*].image}')).toBe(
      'b:1 a:1',
    )
    expect(await kubectl.ok`patch deploy patched -p ${JSON.stringify(strategic)}`).toBe(
      'deployment.apps/patched patched (no change)',
    )
    const merge = { spec: { template: { spec: { containers: [container] } } } }
    await kubectl.ok`patch deploy patched --type=merge -p ${JSON.stringify(merge)}`
    expect(await field('deploy/patched', '{.spec.template.spec.containers[*].image}')).toBe('b:1')
    const operations = [
      { op: 'test', path: '/spec/replicas', value: 0 },
      { op: 'add', path: '/metadata/labels/color', value: 'blue' },
      { op: 'replace', path: '/spec/template/spec/containers/0/image', value: 'c:1' },
    ]
    await kubectl.ok`patch deploy patched --type=json -p ${JSON.stringify(operations)}`
    expect(
      await field('deploy/patched', '{.metadata.labels.color} {..containers[0].image}'),
    ).toContain('blue c:1')
    const scale = { spec: { replicas: 1 } }
    await kubectl.ok`patch deploy patched --subresource=scale --type=merge -p ${JSON.stringify(scale)}`
    expect(await field('deploy/patched', '{.spec.replicas}')).toBe('1')
    const wrong = [{ op: 'test', path: '/spec/replicas', value: 7 }]
    expect(
      (await kubectl.fails`patch deploy patched --type=json -p ${JSON.stringify(wrong)}`).stderr,
    ).toContain('The request is invalid')
  })

  test('label and annotate add, refuse to overwrite, overwrite, and remove', async () => {
    await kubectl.ok`create configmap marked`
    expect(await kubectl.ok`label cm marked tier=front`).toBe('configmap/marked labeled')
    expect((await kubectl.fails`label cm marked tier=back`).stderr).toContain(
      "'tier' already has a value (front), and --overwrite is false",
    )
    await kubectl.ok`label cm marked tier=back --overwrite`
    expect(await kubectl.ok`get cm -l tier=back -o name`).toBe('configmap/marked')
    expect(await kubectl.ok`label cm marked tier-`).toBe('configmap/marked unlabeled')
    expect(await kubectl.ok`annotate cm marked note=${'two words'}`).toBe(
      'configmap/marked annotated',
    )
    expect(await field('cm/marked', '{.metadata.annotations} {.metadata.labels}')).toBe(
      '{"note":"two words"} ',
    )
    expect((await kubectl.fails`label cm marked bad=${'a b'}`).stderr).toContain('a valid label')
    await kubectl.ok`label cm swept=yes --field-selector=metadata.name=marked`
    expect(await kubectl.ok`get cm -l swept -o name`).toBe('configmap/marked')
  })

  test('scale, set image, rollout status, history, undo, pause, resume, restart', async () => {
    expect(await kubectl.ok`scale deployment/web --replicas=3 --current-replicas=2`).toBe(
      'deployment.apps/web scaled',
    )
    await kubectl.ok`rollout status deployment/web --timeout=60s`
    expect(tableOf(await kubectl.ok`get deploy web`)).toMatchObject([
      { READY: '3/3', 'UP-TO-DATE': '3', AVAILABLE: '3' },
    ])
    expect(await kubectl.ok`set image deployment/web nginx=nginx:1.27`).toBe(
      'deployment.apps/web image updated',
    )
    await kubectl.ok`annotate deployment/web kubernetes.io/change-cause=${'to 1.27'}`
    expect(await kubectl.ok`rollout status deployment/web --timeout=60s`).toMatch(
      /deployment "web" successfully rolled out$/,
    )
    expect(await field('deploy/web', '{..containers[0].image}')).toBe('nginx:1.27')
    await expect
      .poll(async () =>
        tableOf(
          (await kubectl.ok`rollout history deployment/web`).slice('deployment.apps/web \n'.length),
        ),
      )
      .toEqual([
        { REVISION: '1', 'CHANGE-CAUSE': '<none>' },
        { REVISION: '2', 'CHANGE-CAUSE': 'to 1.27' },
      ])
    expect(await kubectl.ok`rollout history deployment/web --revision=2`).toMatch(
      /Image:\s+nginx:1\.27/,
    )
    expect(await kubectl.ok`rollout undo deployment/web`).toBe('deployment.apps/web rolled back')
    await kubectl.ok`rollout status deployment/web --timeout=60s`
    expect(await field('deploy/web', '{..containers[0].image}')).toBe('nginx:1.26')
    const history = await kubectl.ok`rollout history deployment/web`
    expect(history).toMatch(/^2 .*\n3 /m)
    expect(await kubectl.ok`rollout undo deployment/web --to-revision=2`).toContain('rolled back')
    await kubectl.ok`rollout status deployment/web --timeout=60s`

    expect(await kubectl.ok`rollout pause deployment/web`).toBe('deployment.apps/web paused')
    expect((await kubectl.fails`rollout pause deployment/web`).stderr).toContain('already paused')
    expect((await kubectl.fails`rollout restart deployment/web`).stderr).toContain('paused')
    expect(await kubectl.ok`rollout resume deployment/web`).toBe('deployment.apps/web resumed')
    const before = await kubectl.ok`get pods -l app=web -o name`
    expect(await kubectl.ok`rollout restart deployment/web`).toBe('deployment.apps/web restarted')
    await kubectl.ok`rollout status deployment/web --timeout=60s`
    await kubectl.ok`wait --for=delete ${before.split('\n')[0] ?? ''} --timeout=60s`
    expect(tableOf(await kubectl.ok`get pods -l app=web`).length).toBeGreaterThanOrEqual(3)
    expect(
      (await kubectl.fails`scale deployment/web --replicas=1 --current-replicas=9`).stderr,
    ).toContain('Expected replicas to be 9, was 3')
  })

  test('set resources, env, serviceaccount and selector', async () => {
    await kubectl.ok`create deployment set --image=a:1 --replicas=0`
    await kubectl.ok`set resources deploy/set --requests=cpu=100m,memory=64Mi --limits=cpu=1`
    await kubectl.ok`set env deploy/set COLOR=blue`
    await kubectl.ok`set serviceaccount deploy/set default`
    const spec = await kubectl.json`get deploy set -o jsonpath=${'{.spec.template.spec}'}`
    expect(spec.containers[0]).toMatchObject({
      resources: { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '1' } },
      env: [{ name: 'COLOR', value: 'blue' }],
    })
    expect(spec.serviceAccountName).toBe('default')
    await kubectl.ok`create service clusterip selecting --tcp=80`
    await kubectl.ok`set selector service/selecting app=set`
    expect(await field('service/selecting', '{.spec.selector}')).toBe('{"app":"set"}')
  })

  test('expose makes a service whose endpoints are the pods', async () => {
    expect(
      await kubectl.ok`expose deployment web --name=exposed --port=80 --target-port=8080`,
    ).toBe('service/exposed exposed')
    const addresses = async () =>
      (await field('endpoints/exposed', '{.subsets[*].addresses[*].ip}')).split(' ').toSorted()
    const ready = async () =>
      (
        await kubectl.ok`get pods -l app=web -o jsonpath=${'{.items[?(@.metadata.deletionTimestamp=="")].status.podIP}'}`
      )
        .split(' ')
        .toSorted()
    await expect.poll(async () => (await addresses()).length).toBe(3)
    expect(await ready()).toEqual(expect.anything())
    const described = await kubectl.ok`describe service exposed`
    expect(described).toMatch(/^Selector: +app=web$/m)
    expect(described).toMatch(/^Endpoints: +\d+\.\d+\.\d+\.\d+:8080,/m)
    expect(await kubectl.ok`expose pod runner --port=80 --type=NodePort`).toBe(
      'service/runner exposed',
    )
    expect(tableOf(await kubectl.ok`get service runner`)).toMatchObject([
      { TYPE: 'NodePort', 'PORT(S)': expect.stringMatching(/^80:3\d{4}\/TCP$/) as string },
    ])
  })

  test('describe tells the story of a pod and of a deployment', async () => {
    const pod = await kubectl.ok`describe pod runner`
    expect(pod).toMatch(/^Name: +runner$/m)
    expect(pod).toMatch(/^Service Account: +default$/m)
    expect(pod).toMatch(/^Node: +node-\d\/127\.0\.0\.1$/m)
    expect(pod).toMatch(/^Status: +Running$/m)
    expect(pod).toMatch(/^ +Image: +busybox:1\.36$/m)
    expect(pod).toMatch(/^ +State: +Running$/m)
    expect(pod).toMatch(/^ +Ready +True *$/m)
    expect(pod).toMatch(/^QoS Class: +BestEffort$/m)
    expect(pod).toMatch(
      /^Tolerations: +node\.kubernetes\.io\/not-ready:NoExecute op=Exists for 300s$/m,
    )
    expect(pod).toMatch(/ConfigMapName: +kube-root-ca\.crt/)
    expect(pod).toMatch(
      /Normal +Scheduled +\S+ +default-scheduler +Successfully assigned workloads\/runner to node-\d/,
    )
    expect(pod).toMatch(/Normal +Started +\S+ +kubelet +Started container runner/)

    const deployment = await kubectl.ok`describe deployment web`
    expect(deployment).toMatch(
      /^Replicas: +3 desired \| 3 updated \| 3 total \| 3 available \| 0 unavailable$/m,
    )
    expect(deployment).toMatch(/^RollingUpdateStrategy: +25% max unavailable, 25% max surge$/m)
    expect(deployment).toMatch(/^ +Available +True +MinimumReplicasAvailable$/m)
    expect(deployment).toMatch(/^ +Progressing +True +NewReplicaSetAvailable$/m)
    expect(deployment).toMatch(/^NewReplicaSet: +web-[a-z0-9]+ \(3\/3 replicas created\)$/m)
    expect(deployment).toMatch(
      /Normal +ScalingReplicaSet +.* +deployment-controller +Scaled up replica set web-/,
    )
    for (const kind of [
      'replicaset',
      'serviceaccount',
      'secret',
      'configmap',
      'job',
      'cronjob',
      'ingress',
    ]) {
      expect(await kubectl.ok`describe ${kind}`).toMatch(/^Name: +/m)
    }
  })
})
