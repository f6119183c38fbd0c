/** Columns of the rbac and certificates groups. */
import { humanDuration } from '../../machinery/values/duration.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { TablePrinter } from '../../machinery/objects/table-printer.ts'
import { ageColumn, column, nameColumn, tablePrinter } from './table-printer.ts'
import type { FilledColumn } from './table-printer.ts'

interface Subject {
  readonly kind?: string
  readonly name?: string
  readonly namespace?: string
}

function subjectsColumn(name: string, kind: string): FilledColumn {
  const textOf = (subject: Subject) =>
    kind === 'ServiceAccount' && subject.namespace
      ? `${subject.namespace}/${subject.name ?? ''}`
      : (subject.name ?? '')
  return column(
    [name, `${name} that get the role.`],
    (binding) =>
      (binding['subjects'] ?? [])
        .filter((subject: Subject) => subject.kind === kind)
        .map(textOf)
        .join(', '),
    { wide: true },
  )
}

const bindingPrinter = tablePrinter(
  nameColumn,
  column(['Role', 'Role that is given.'], (binding) => {
    const { kind = '', name = '' } = binding['roleRef'] ?? {}
    return `${kind}/${name}`
  }),
  ageColumn,
  subjectsColumn('Users', 'User'),
  subjectsColumn('Groups', 'Group'),
  subjectsColumn('ServiceAccounts', 'ServiceAccount'),
)

export const rbacPrinters: Readonly<Record<string, TablePrinter>> = {
  clusterrolebindings: bindingPrinter,
  rolebindings: bindingPrinter,
}

function requestState(request: KubeObject): string {
  const types = new Set(
    (request['status']?.conditions ?? []).map((condition: { type?: string }) => condition.type),
  )
  const verdict = types.has('Denied') ? 'Denied' : types.has('Approved') ? 'Approved' : 'Pending'
  const failed = types.has('Failed') ? ',Failed' : ''
  return `${verdict}${failed}${request['status']?.certificate ? ',Issued' : ''}`
}

const signerColumn = column(
  ['SignerName', 'Signer that is asked.'],
  (object) => object['spec']?.signerName || '<none>',
)

export const certificatesPrinters: Readonly<Record<string, TablePrinter>> = {
  certificatesigningrequests: tablePrinter(
    nameColumn,
    ageColumn,
    signerColumn,
    column(['Requestor', 'User who asks.'], (request) => request['spec']?.username ?? ''),
    column(['RequestedDuration', 'How long the certificate should be valid.'], (request) => {
      const seconds = request['spec']?.expirationSeconds
      return typeof seconds === 'number' ? humanDuration(seconds * 1000) : '<none>'
    }),
    column(['Condition', 'What has become of the request.'], requestState),
  ),
  clustertrustbundles: tablePrinter(nameColumn, signerColumn),
}
