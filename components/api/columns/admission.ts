/** Columns of admission configuration and of API extension kinds. */
import { printLabelSelector } from '../../machinery/selectors/label-selector.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { TablePrinter } from '../../machinery/objects/table-printer.ts'
import { ageColumn, column, length, nameColumn, tablePrinter } from './table-printer.ts'

const type = 'integer'

const webhooksPrinter = tablePrinter(
  nameColumn,
  column(['Webhooks', 'Number of webhooks.'], (object) => length(object['webhooks']), { type }),
  ageColumn,
)

const parameterKindColumn = column(
  ['ParamKind', 'Kind of the objects that hold its parameters.'],
  (policy) => {
    const kind = policy['spec']?.paramKind
    return kind === undefined ? '<unset>' : `${kind.apiVersion ?? ''}/${kind.kind ?? ''}`
  },
)

function parametersOf(binding: KubeObject): string {
  const reference = binding['spec']?.paramRef
  // The scope of the parameter's kind is unknown here.
  if (reference?.name) return `${reference.namespace || '*'}/${reference.name}`
  return reference?.selector === undefined ? '<unset>' : printLabelSelector(reference.selector)
}

const bindingPrinter = tablePrinter(
  nameColumn,
  column(['PolicyName', 'Policy it puts in force.'], (object) => object['spec']?.policyName ?? ''),
  column(['ParamRef', 'Object that holds the parameters.'], parametersOf),
  ageColumn,
)

export const admissionPrinters: Readonly<Record<string, TablePrinter>> = {
  mutatingadmissionpolicies: tablePrinter(
    nameColumn,
    column(['Mutations', 'Number of changes.'], (object) => length(object['spec']?.mutations), {
      type,
    }),
    parameterKindColumn,
    ageColumn,
  ),
  mutatingadmissionpolicybindings: bindingPrinter,
  mutatingwebhookconfigurations: webhooksPrinter,
  validatingadmissionpolicies: tablePrinter(
    nameColumn,
    column(['Validations', 'Number of rules.'], (object) => length(object['spec']?.validations), {
      type,
    }),
    parameterKindColumn,
    ageColumn,
  ),
  validatingadmissionpolicybindings: bindingPrinter,
  validatingwebhookconfigurations: webhooksPrinter,
}

function availability(service: KubeObject): string {
  const available = (service['status']?.conditions ?? []).find(
    (condition: { type?: string }) => condition.type === 'Available',
  )
  if (available === undefined) return 'Unknown'
  return available.status === 'True' ? 'True' : `${available.status} (${available.reason ?? ''})`
}

export const apiregistrationPrinters: Readonly<Record<string, TablePrinter>> = {
  apiservices: tablePrinter(
    nameColumn,
    column(['Service', 'Service behind the group version, or Local.'], (object) => {
      const service = object['spec']?.service
      return service ? `${service.namespace ?? ''}/${service.name ?? ''}` : 'Local'
    }),
    column(['Available', 'Whether it answers.'], availability),
    ageColumn,
  ),
}
