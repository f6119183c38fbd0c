/** FaultView: why a write failed, field by field. */
import { fieldFaults } from '../../../parts/faults.ts'

export interface WriteFault {
  readonly message: string
  readonly details?: unknown
}

export function FaultView({ fault }: { readonly fault: WriteFault }) {
  const fields = fieldFaults(fault.details)
  return (
    <div class="fault" role="alert">
      <p>{fault.message}</p>
      {fields.length > 0 && (
        <dl>
          {fields.map(({ field, message }, index) => (
            <div key={index}>
              <dt>
                <code>{field || '(the object)'}</code>
              </dt>
              <dd>{message}</dd>
            </div>
          ))}
        </dl>
      )}
    </div>
  )
}
