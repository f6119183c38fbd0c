/** Columns of the storage group. */
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { TablePrinter } from '../../machinery/objects/table-printer.ts'
import { dialects, labelKey } from '../dialect.ts'
import { ageColumn, column, length, nameColumn, tablePrinter } from './table-printer.ts'
import type { FilledColumn } from './table-printer.ts'

function defaultMarks(subdomains: readonly string[], name: string): string[] {
  return Object.values(dialects).flatMap((dialect) =>
    subdomains.map((subdomain) => labelKey(dialect, subdomain, name)),
  )
}

const defaultClassKeys = defaultMarks(['storageclass', 'storageclass.beta'], 'is-default-class')
const defaultAttributesKeys = defaultMarks(['volumeattributesclass'], 'is-default-class')

/** The name with ` (default)` behind it when an annotation makes the class the default one. */
function classNameColumn(keys: readonly string[]): FilledColumn {
  return column(
    ['Name', nameColumn.column.description],
    ({ metadata }) => {
      const isDefault = keys.some((key) => metadata.annotations?.[key] === 'true')
      return `${metadata.name ?? ''}${isDefault ? ' (default)' : ''}`
    },
    { format: 'name' },
  )
}

function flag(name: string, description: string, more: { field: string; absent: boolean }) {
  return column([name, description], (driver) => driver['spec']?.[more.field] ?? more.absent, {
    type: 'boolean',
  })
}

function tokenAudiences(driver: KubeObject): string {
  const requests: readonly { audience?: string }[] | undefined = driver['spec']?.tokenRequests
  return requests === undefined
    ? '<unset>'
    : requests.map(({ audience }) => audience ?? '').join(',')
}

export const storagePrinters: Readonly<Record<string, TablePrinter>> = {
  csidrivers: tablePrinter(
    nameColumn,
    flag('AttachRequired', 'Whether volumes are attached before they are mounted.', {
      field: 'attachRequired',
      absent: true,
    }),
    flag('PodInfoOnMount', 'Whether mounting is told about the pod.', {
      field: 'podInfoOnMount',
      absent: false,
    }),
    flag('StorageCapacity', 'Whether scheduling looks at free capacity.', {
      field: 'storageCapacity',
      absent: false,
    }),
    column(['TokenRequests', 'Audiences of the tokens it is given.'], tokenAudiences),
    flag('RequiresRepublish', 'Whether mounting is repeated.', {
      field: 'requiresRepublish',
      absent: false,
    }),
    column(
      ['Modes', 'Kinds of volumes it offers.'],
      (driver) => (driver['spec']?.volumeLifecycleModes ?? []).join(',') || '<none>',
    ),
    ageColumn,
  ),
  csinodes: tablePrinter(
    nameColumn,
    column(['Drivers', 'Number of drivers on the node.'], (node) => length(node['spec']?.drivers), {
      type: 'integer',
    }),
    ageColumn,
  ),
  csistoragecapacities: tablePrinter(
    nameColumn,
    column(
      ['StorageClassName', 'Class whose capacity it tells.'],
      (object) => object['storageClassName'] ?? '',
    ),
    column(['Capacity', 'Free capacity.'], (object) => String(object['capacity'] ?? '<unset>')),
  ),
  storageclasses: tablePrinter(
    classNameColumn(defaultClassKeys),
    column(['Provisioner', 'Who makes the volumes.'], (object) => object['provisioner'] ?? ''),
    column(
      ['ReclaimPolicy', 'What becomes of volumes whose claim goes.'],
      (object) => object['reclaimPolicy'] ?? 'Delete',
    ),
    column(
      ['VolumeBindingMode', 'When volumes are bound.'],
      (object) => object['volumeBindingMode'] ?? 'Immediate',
    ),
    column(
      ['AllowVolumeExpansion', 'Whether volumes can grow.'],
      (object) => object['allowVolumeExpansion'] ?? false,
    ),
    ageColumn,
  ),
  volumeattachments: tablePrinter(
    nameColumn,
    column(['Attacher', 'Driver that attaches.'], (object) => object['spec']?.attacher ?? '', {
      format: 'name',
    }),
    column(
      ['PV', 'Volume to attach.'],
      (object) => object['spec']?.source?.persistentVolumeName ?? '',
    ),
    column(['Node', 'Node to attach it to.'], (object) => object['spec']?.nodeName ?? ''),
    column(
      ['Attached', 'Whether it is attached.'],
      (object) => object['status']?.attached ?? false,
      {
        type: 'boolean',
      },
    ),
    ageColumn,
  ),
  volumeattributesclasses: tablePrinter(
    classNameColumn(defaultAttributesKeys),
    column(['DriverName', 'Driver the class is for.'], (object) => object['driverName'] ?? ''),
    ageColumn,
  ),
}
