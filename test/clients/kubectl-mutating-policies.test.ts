/** The story of a mutating admission policy, as its author lives it with kubectl: write, try, mend, bind, see, delete. */
import { join } from 'node:path'
import { beforeAll, describe, expect } from 'vitest'
import { admin } from '../support/api-server.ts'
import { eventually } from '../support/eventually.ts'
import { sharedServer } from '../support/shared-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { writeKubeconfig } from '../support/test-kubeconfig.ts'
import { kubectlFor, oneKubectlPerRelease, requireKubectl, type Kubectl } from '../e2e/kubectl.ts'

const { test } = requireKubectl()
const kubectls = await oneKubectlPerRelease()
const newest = kubectls.at(-1) ?? ''

const policy = (expression: string): string => `
apiVersion: admissionregistration.k8s.io/v1alpha1
kind: MutatingAdmissionPolicy
metadata:
  name: sidecar.example.com
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  matchConditions:
  - name: without
    expression: "!object.spec.containers.exists(c, c.name == 'mesh')"
  reinvocationPolicy: IfNeeded
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >
        ${expression}
  - patchType: JSONPatch
    jsonPatch:
      expression: >
        [JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("example.com/mesh"), value: "on"}]
`
const binding = `
apiVersion: admissionregistration.k8s.io/v1alpha1
kind: MutatingAdmissionPolicyBinding
metadata: {name: sidecar-in-web}
spec:
  policyName: sidecar.example.com
  paramRef: {name: mesh, namespace: web, parameterNotFoundAction: Deny}
  matchResources:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: web}}
`
const sidecar =
  'Object{spec: Object.spec{containers: [Object.spec.containers{name: "mesh", image: params.data.image}]}}'

describe.runIf(kubectls.length > 0)('mutating admission policies', () => {
  const server = sharedServer({
    flags: [
      '--feature-gates=MutatingAdmissionPolicy=true',
      '--runtime-config=admissionregistration.k8s.io/v1alpha1=true',
    ],
  })
  let kubectl: Kubectl

  beforeAll(async () => {
    const home = temporaryFolder('kubectl-mutating-policies')
    writeKubeconfig(join(home, 'kubeconfig'), server(), admin)
    await server().namespace('web')
    const cluster = { home, kubeconfig: join(home, 'kubeconfig') }
    kubectl = await kubectlFor(cluster, { path: newest, namespace: 'web', hasControllers: false })
  })

  test('are written, mended, bound to parameters, and change the Pods that come', async () => {
    const wrong = await kubectl.withInput(policy('Object{spec: Object.sepc{}} == 1'))
      .fails`apply -f -`
    expect(wrong.stderr).toContain('spec.mutations[0].applyConfiguration.expression: Invalid value')
    expect(wrong.stderr).toContain(
      "found no matching overload for '_==_' applied to '(Object, int)'",
    )
    await kubectl.withInput(policy(sidecar)).ok`apply -f -`
    await kubectl.withInput(binding).ok`apply -f -`
    expect(await kubectl.ok`get mutatingadmissionpolicies`).toMatch(
      /^NAME +MUTATIONS +PARAMKIND +AGE\nsidecar\.example\.com +2 +v1\/ConfigMap +\S+$/,
    )

    const refused = await eventually(
      async () => await kubectl.fails`run web --image=nginx --labels=app=web`,
    )
    expect(refused.stderr.trim()).toBe(
      "Error from server (Forbidden): policy 'sidecar.example.com' with binding 'sidecar-in-web' denied request: failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction",
    )
    await kubectl.ok`create configmap mesh --from-literal=image=mesh:1`
    await kubectl.ok`run web --image=nginx --labels=app=web`
    const images = '{.spec.containers[*].image}'
    expect(await kubectl.ok`get pod web -o jsonpath=${images}`).toBe('nginx mesh:1')
    const label = '{.metadata.labels.example\\.com/mesh}'
    expect(await kubectl.ok`get pod web -o jsonpath=${label}`).toBe('on')

    const tried =
      await kubectl.ok`run try --image=nginx --labels=app=try --dry-run=server -o jsonpath=${images}`
    expect(tried).toBe('nginx mesh:1')
    expect(await kubectl.ok`get pods -o name`).toBe('pod/web')
  })

  test('say what is wrong with what they make of an object, and are gone once deleted', async () => {
    const atomic = 'Object{spec: Object.spec{nodeSelector: {"mesh": "on"}}}'
    await kubectl.withInput(policy(atomic)).ok`apply -f -`
    const refused = await kubectl.fails`run atomic --image=nginx --labels=app=web`
    expect(refused.stderr.trim()).toBe(
      `The pods "atomic" is invalid: : policy 'sidecar.example.com' with binding 'sidecar-in-web' denied request: error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.nodeSelector`,
    )
    await kubectl.ok`delete mutatingadmissionpolicies,mutatingadmissionpolicybindings --all`
    await kubectl.ok`run plain --image=nginx`
    expect(await kubectl.ok`get pod plain -o jsonpath={.spec.containers[*].name}`).toBe('plain')
  })
})
