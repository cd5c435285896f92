// What a Java client does: tables, a prepared statement often enough for the driver to use binary, a refusal.
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;

public class Jdbc {
    public static void main(String[] given) throws SQLException {
        Properties how = new Properties();
        how.put("user", "analyst");
        how.put("password", given[2]);
        how.put("sslmode", "verify-full");
        how.put("sslrootcert", given[1]);
        how.put("options", "-c discreet.epsilon=0.1");
        try (Connection line = DriverManager.getConnection("jdbc:postgresql://localhost:" + given[0] + "/clinic", how)) {
            try (ResultSet found = line.getMetaData().getTables(null, null, "%", new String[] {"TABLE"})) {
                while (found.next()) System.out.println("table " + found.getString(3));
            }
            String asked = "SELECT ward, COUNT(*) AS n FROM visits WHERE stay > ? GROUP BY ward";
            try (PreparedStatement question = line.prepareStatement(asked)) {
                for (int time = 0; time < 7; time++) {
                    question.setInt(1, 3);
                    StringBuilder rows = new StringBuilder("answer");
                    try (ResultSet found = question.executeQuery()) {
                        while (found.next()) rows.append(" " + found.getString(1) + "=" + found.getDouble(2));
                    }
                    System.out.println(rows);
                    System.out.println("said " + question.getWarnings().getMessage().split(";")[0]);
                }
            }
            try (Statement rows = line.createStatement()) {
                rows.executeQuery("SELECT * FROM visits");
            } catch (SQLException refused) {
                System.out.println("refused " + refused.getSQLState());
            }
        }
    }
}
